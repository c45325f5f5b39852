// Pictures of every pane, for README and for somebody's eyes: shots.mjs DIRECTORY [light|dark]
import { end, page, project, ralph, remove, serve, until } from './lib.mjs';

const out = process.argv[2] || '.';
const dir = project('2s');
const server = await serve(dir);
const loop = ralph(dir, 'build', '--json');
const tab = await page(server.link, { viewport: { width: 1280, height: 800 } });
const shot = (name) => tab.screenshot({ path: `${out}/web-${name}.png` });
await until(async () => (await tab.locator('[data-attempt]').count()) >= 6, 'six attempts', 120000);
await until(async () => /Backend works/.test(await tab.locator('main').innerText()) && (await tab.locator('#stream .item').count()) > 3, 'an attempt under way');
await shot('now');
for (const pane of ['plan', 'specs', 'memory', 'timeline', 'controls']) {
  await tab.goto(`${server.address}#${pane}`);
  await tab.waitForSelector(`#main[data-pane=${pane}]`);
  await tab.waitForTimeout(600);
  await shot(pane);
}
await tab.goto(`${server.address}#plan`);
await tab.getByRole('button', { name: 'graph' }).click();
await tab.waitForTimeout(500);
await shot('graph');
await tab.goto(`${server.address}#task/t-0003`);
await tab.waitForSelector('#main[data-pane=task] [data-attempt]');
await shot('task');
await tab.locator('[data-attempt] a').last().click();
await tab.waitForTimeout(300);
await tab.locator('#main [data-attempt] td a').first().click().catch(() => {});
const failed = await tab.request.get(`${server.address}api/attempts?task=t-0003`);
const rows = (await failed.json()).attempts;
await tab.goto(`${server.address}#attempt/${rows[rows.length - 1].attempt}`);
await tab.waitForSelector('#main[data-pane=attempt]');
await tab.getByRole('button', { name: 'gates' }).click();
await tab.waitForTimeout(500);
await shot('attempt');
await tab.emulateMedia({ colorScheme: 'dark' });
await tab.goto(`${server.address}#now`);
await tab.waitForTimeout(600);
await shot('dark');
await tab.setViewportSize({ width: 390, height: 800 });
await tab.waitForTimeout(400);
await shot('phone');
console.log(tab.complaints, tab.elsewhere);
loop.kill('SIGTERM');
await new Promise((r) => setTimeout(r, 1500));
await end();
remove(dir);
process.exit(0);
