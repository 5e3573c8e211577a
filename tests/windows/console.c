/* `console EVENT PROGRAM`: a client that has a console. It starts the server PROGRAM (`misbehaving`) in it, has a call in
   flight, causes EVENT (`ctrl-c`, `ctrl-break`, `close`, `logoff`, `shutdown`), and prints what the server writes from then on,
   and its exit code. Safe Rust cannot press keys. */
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

static const struct { const char *name; DWORD event; } EVENTS[] = {
    {"ctrl-c", CTRL_C_EVENT},           {"ctrl-break", CTRL_BREAK_EVENT},   {"close", CTRL_CLOSE_EVENT},
    {"logoff", CTRL_LOGOFF_EVENT},      {"shutdown", CTRL_SHUTDOWN_EVENT},
};

static BOOL find(const char *name, DWORD *event) {
    for (size_t i = 0; i < sizeof EVENTS / sizeof EVENTS[0]; i++) {
        if (strcmp(EVENTS[i].name, name) == 0) {
            *event = EVENTS[i].event;
            return TRUE;
        }
    }
    return FALSE;
}

/* Wine's console delivers Ctrl-C alone. The others come as from the console of Windows: a new thread of the server begins in
   `CtrlRoutine`, which calls the handlers. System libraries have the same address in all processes. */
static void cause(DWORD event, HANDLE server) {
    if (event == CTRL_C_EVENT) {
        check(GenerateConsoleCtrlEvent(event, 0), "GenerateConsoleCtrlEvent");
        return;
    }
    FARPROC routine = GetProcAddress(GetModuleHandleA("kernelbase.dll"), "CtrlRoutine");
    check(routine != NULL, "CtrlRoutine");
    LPTHREAD_START_ROUTINE start = (LPTHREAD_START_ROUTINE)(void *)routine;
    HANDLE thread = CreateRemoteThread(server, NULL, 0, start, (void *)(ULONG_PTR)event, 0, NULL);
    check(thread != NULL, "CreateRemoteThread");
    CloseHandle(thread);
}

/* A pipe, whose end `inherited` goes to the server. */
static void make_pipe(HANDLE *read, HANDLE *write, HANDLE *inherited) {
    check(CreatePipe(read, write, NULL, 0), "CreatePipe");
    check(SetHandleInformation(*inherited, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT), "SetHandleInformation");
}

int main(int count, char **arguments) {
    DWORD event;
    if (count != 3 || !find(arguments[1], &event)) {
        fprintf(stderr, "usage: console EVENT PROGRAM\n");
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
    check(CreateProcessA(NULL, arguments[2], NULL, NULL, TRUE, 0, NULL, NULL, &startup, &server), "CreateProcess");
    CloseHandle(input);
    CloseHandle(output);

    DWORD size;
    check(WriteFile(requests, REQUESTS, sizeof REQUESTS - 1, &size, NULL), "WriteFile");
    /* When the ping is answered, the call has begun. */
    char byte;
    for (int lines = 0; lines < 2; lines += byte == '\n') {
        check(ReadFile(answers, &byte, 1, &size, NULL), "ReadFile");
    }
    cause(event, server.hProcess);
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
