/* `console PROGRAM`: a client that has a console. It starts the server PROGRAM (`misbehaving`) in it, has a call in flight,
   presses Ctrl-C, and prints what the server writes from then on, and its exit code. Safe Rust cannot press keys. */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char REQUESTS[] =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"sleep\",\"arguments\":{\"ms\":400}}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n";

static void check(BOOL done, const char *what) {
    if (!done) {
        fprintf(stderr, "%s: error %lu\n", what, GetLastError());
        exit(2);
    }
}

/* The event is for the server, not for its client. */
static BOOL WINAPI ignore(DWORD event) {
    (void)event;
    return TRUE;
}

/* A pipe, whose end `inherited` goes to the server. */
static void make_pipe(HANDLE *read, HANDLE *write, HANDLE *inherited) {
    check(CreatePipe(read, write, NULL, 0), "CreatePipe");
    check(SetHandleInformation(*inherited, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT), "SetHandleInformation");
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: console PROGRAM\n");
        return 2;
    }
    HANDLE log = GetStdHandle(STD_ERROR_HANDLE), printed = GetStdHandle(STD_OUTPUT_HANDLE);
    FreeConsole();
    check(AllocConsole(), "AllocConsole");
    check(SetConsoleCtrlHandler(ignore, TRUE), "SetConsoleCtrlHandler");

    HANDLE input, requests, answers, output;
    make_pipe(&input, &requests, &input);
    make_pipe(&answers, &output, &output);
    STARTUPINFOA startup = {.cb = sizeof startup, .dwFlags = STARTF_USESTDHANDLES, .hStdInput = input, .hStdOutput = output, .hStdError = log};
    PROCESS_INFORMATION server;
    check(CreateProcessA(NULL, arguments[1], NULL, NULL, TRUE, 0, NULL, NULL, &startup, &server), "CreateProcess");
    CloseHandle(input);
    CloseHandle(output);

    DWORD size;
    check(WriteFile(requests, REQUESTS, sizeof REQUESTS - 1, &size, NULL), "WriteFile");
    /* When the ping is answered, the call has begun. */
    char byte;
    for (int lines = 0; lines < 2; lines += byte == '\n') {
        check(ReadFile(answers, &byte, 1, &size, NULL), "ReadFile");
    }
    check(GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0), "GenerateConsoleCtrlEvent");
    while (ReadFile(answers, &byte, 1, &size, NULL) && size == 1) {
        WriteFile(printed, &byte, 1, &size, NULL);
    }
    check(WaitForSingleObject(server.hProcess, 30000) == WAIT_OBJECT_0, "the server is still there");
    DWORD code;
    GetExitCodeProcess(server.hProcess, &code);
    char text[32];
    snprintf(text, sizeof text, "exit code %lu\n", code);
    WriteFile(printed, text, strlen(text), &size, NULL);
    return 0;
}
