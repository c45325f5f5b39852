// What a person sees in a real browser while a loop runs. Needs RALPH_BIN; see scripts/web-tests.sh.
import { end } from './lib.mjs';
import steer from './steer.mjs';
import look from './look.mjs';
import read from './read.mjs';
import truth from './truth.mjs';

const ATONCE = 4;
const only = process.argv[2];
const waiting = [...steer, ...look, ...read, ...truth].filter(([name]) => !only || name.includes(only));
let failed = 0;

async function worker() {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const [name, check] = next;
    const began = Date.now();
    try {
      await check();
      console.log(`ok - ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`not ok - ${name}\n${error.stack}`);
    }
  }
}
if (!waiting.length) { console.log(`no promise has "${only}" in its name`); failed = 1; }
await Promise.all(Array.from({ length: ATONCE }, worker));
await end();
process.exit(failed ? 1 : 0);
