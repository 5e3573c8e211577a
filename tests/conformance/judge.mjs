// Reads the results of the suite and compares them with the baseline: `judge.mjs RESULTS BASELINE NAME=SCENARIOS…`.
// A check does not pass if it is a FAILURE or a WARNING in any run. What the baseline names is known, not forgiven:
// it is told apart from what is new, and still fails.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// What the suite may leave out: an extension the server does not have, and a scenario without a check.
const skippable = /^(sep-2640-skills-\S+|tasks-status-notifications) /;

const [results, baselineFile, ...runs] = process.argv.slice(2);
const problems = [];

// "scenario check: reason"
const baseline = new Map();
for (const line of readFileSync(baselineFile, 'utf8').split('\n')) {
    if (!line.trim() || line.startsWith('#')) continue;
    const entry = /^(\S+ \S+): (\S.*)$/.exec(line);
    if (!entry) problems.push(`baseline.txt: not "scenario check: reason": ${line}`);
    else if (baseline.has(entry[1])) problems.push(`baseline.txt: twice: ${entry[1]}`);
    else baseline.set(entry[1], entry[2]);
}

const seen = new Map(); // what did not pass: its key, and what the suite says
const row = (...cells) => console.log(cells.map((cell, at) => (at ? String(cell).padStart(10) : cell.padEnd(18))).join(''));
row('run', 'scenarios', 'passed', 'failed', 'warned', 'baselined', 'skipped', 'info');

for (const [run, expected] of runs.map((text) => text.split('='))) {
    const dir = join(results, run);
    const scenarios = new Set();
    const count = { SUCCESS: 0, FAILURE: 0, WARNING: 0, SKIPPED: 0, INFO: 0, baselined: 0 };
    for (const folder of existsSync(dir) ? readdirSync(dir) : []) {
        const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
        scenarios.add(scenario);
        const checks = join(dir, folder, 'checks.json');
        if (!existsSync(checks)) {
            problems.push(`${run}: ${scenario}: it did not come to an end in time; see ${join(results, run)}.log`);
            continue;
        }
        for (const check of JSON.parse(readFileSync(checks, 'utf8'))) {
            const key = `${scenario} ${check.id}`;
            if (!(check.status in count)) problems.push(`${run}: ${key}: unknown status ${check.status}`);
            if (check.status === 'SKIPPED' && !skippable.test(key)) problems.push(`${run}: ${key}: skipped: ${check.errorMessage ?? check.description}`);
            const passed = check.status !== 'FAILURE' && check.status !== 'WARNING';
            if (!passed && !seen.has(key)) seen.set(key, `${check.status}: ${check.errorMessage ?? check.description}`);
            count[!passed && baseline.has(key) ? 'baselined' : check.status] += 1;
        }
    }
    const { SUCCESS, FAILURE, WARNING, SKIPPED, INFO, baselined } = count;
    row(run, scenarios.size, SUCCESS, FAILURE, WARNING, baselined, SKIPPED, INFO);
    if (scenarios.size !== Number(expected)) {
        problems.push(`${run}: ${scenarios.size} scenarios were run, not ${expected}; see ${join(results, run)}.log`);
    }
}

for (const [key, said] of seen) {
    if (!baseline.has(key)) problems.push(`${key}: ${said}`);
}
for (const [key, reason] of baseline) {
    if (seen.has(key)) problems.push(`known: ${key}: ${reason}`);
    else problems.push(`passes now, take it out of baseline.txt: ${key}`);
}
problems.forEach((problem) => console.log(`- ${problem}`));
console.log(problems.length ? `not conformant: ${problems.length}` : 'conformant');
process.exitCode = problems.length ? 1 : 0;
