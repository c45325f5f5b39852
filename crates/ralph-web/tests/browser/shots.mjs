// Pictures of every pane, light, dark and on a phone, for the documentation and for somebody's eyes:
// shots.mjs DIRECTORY
import { api, end, go, page, project, ralph, remove, serve, stop, until } from './lib.mjs';

const out = process.argv[2] || '.';
const dir = project('2500ms');
const server = await serve(dir);
let loop = ralph(dir, 'build', '--json');
const tab = await page(server.link, { viewport: { width: 1280, height: 800 } });
// Much text makes a large file: what has much of it is cut below.
const shot = async (name) => {
  await tab.waitForTimeout(500);
  const { width, height } = tab.viewportSize();
  const clip = { x: 0, y: 0, width, height: name.startsWith('memory') ? Math.min(height, 680) : height };
  await tab.screenshot({ path: `${out}/web-${name}.png`, clip });
};
const done = async () => (await api(tab, server, 'attempts?limit=500')).attempts;
// Something to compare with: a run that somebody stopped, then the one that is shown.
await until(async () => (await done()).length >= 4, 'four attempts', 120000);
await stop(loop);
loop = ralph(dir, 'build', '--json');
await until(async () => (await done()).length >= 9, 'nine attempts', 180000);
const working = async () => /Backend works/.test(await tab.locator('main').innerText()) && (await tab.locator('#stream .item').count()) > 5;
const pictures = async (kind) => {
  await go(tab, server.address, 'now');
  await until(working, 'an attempt under way');
  await shot(`now${kind}`);
  for (const pane of ['plan', 'specs', 'memory', 'timeline', 'controls']) {
    await go(tab, server.address, pane);
    await shot(`${pane}${kind}`);
  }
};
await pictures('');
await go(tab, server.address, 'plan');
await tab.getByRole('button', { name: 'graph' }).click();
await shot('graph');
await tab.getByRole('button', { name: 'board' }).click();
await go(tab, server.address, 'task/t-0003');
await tab.waitForSelector('[data-attempt]');
await shot('task');
const { attempts } = await api(tab, server, 'attempts?task=t-0003');
const failed = attempts.find((a) => a.result === 'failed');
await go(tab, server.address, `attempt/${failed.attempt}`);
for (const part of ['diff', 'gates']) {
  await tab.getByRole('button', { name: part }).click();
  await shot(part === 'gates' ? 'attempt' : 'diff');
}
await tab.emulateMedia({ colorScheme: 'dark' });
await pictures('-dark');
await tab.emulateMedia({ colorScheme: 'light' });
await tab.setViewportSize({ width: 390, height: 800 });
await pictures('-phone');
if (tab.complaints.length || tab.elsewhere.length) console.log(tab.complaints, tab.elsewhere);
await stop(loop);
await end();
remove(dir);
process.exit(0);
