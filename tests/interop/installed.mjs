// The version of a package that is installed, for what is printed: `tests/tested/page.py` makes a page of it.

import { readFileSync } from 'node:fs';

// modules lie beside the packages, where `run` copies them; some packages do not export their package.json
export const installed = (name) => {
    const manifest = new URL(`node_modules/${name}/package.json`, import.meta.url);
    return `${name} ${JSON.parse(readFileSync(manifest, 'utf8')).version}`;
};
