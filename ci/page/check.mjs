// Opens pages in a headless Chromium, and prints what is wrong with each, one finding a line. Exit code 1 if there is any.
//
//     node check.mjs CHROMIUM AXE_SCRIPT WORK_FOLDER [--pictures=NAME,NAME...] PAGE...
//
// --pictures: writes NAME-light.png, -dark.png, -phone.png and NAME.pdf of these pages to WORK_FOLDER; `all` means all.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Chromium } from './chromium.mjs';

const WIDE = { width: 1200, height: 900 };
const PHONE = { width: 360, height: 740 };

const [program, axe, work, ...rest] = process.argv.slice(2);
const shown = rest[0]?.startsWith('--pictures=') ? rest.shift().split('=')[1].split(',') : [];
const pages = rest;
const scripts = [readFileSync(axe, 'utf8'), readFileSync(new URL('inside.js', import.meta.url), 'utf8')];

/** Records whatever a page loads, runs or complains about. */
async function watch(tab, url, report) {
  tab.on('Log.entryAdded', ({ entry }) => report(`${entry.source} ${entry.level}: ${entry.text}`));
  tab.on('Runtime.consoleAPICalled', ({ type, args }) => report(`console.${type}: ${args.map((arg) => arg.value)}`));
  tab.on('Runtime.exceptionThrown', ({ exceptionDetails }) => report(`exception: ${exceptionDetails.text}`));
  tab.on('Network.requestWillBeSent', ({ request }) => {
    if (request.url !== url && !request.url.startsWith('data:')) report(`request of ${request.url}`);
  });
  tab.on('Debugger.scriptParsed', ({ executionContextAuxData, startLine }) => {
    if (executionContextAuxData?.isDefault && tab.isOpen) report(`a script runs: line ${startLine + 1}`);
  });
  tab.on('Page.frameAttached', () => report('the page has a frame'));
  for (const domain of ['Page', 'Runtime', 'Network', 'Log', 'Debugger']) await tab.send(`${domain}.enable`);
}

/** A function that evaluates an expression in a world of its own in the tab. */
async function world(tab) {
  const { frameTree } = await tab.send('Page.getFrameTree');
  const { executionContextId: contextId } = await tab.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await tab.send('Runtime.evaluate', {
      expression, contextId, awaitPromise: true, returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  for (const script of scripts) await evaluate(`${script};0`);
  return evaluate;
}

const resize = (tab, size) => tab.send('Emulation.setDeviceMetricsOverride', { ...size, deviceScaleFactor: 1, mobile: false });
const scheme = (tab, value, media = 'screen') =>
  tab.send('Emulation.setEmulatedMedia', { media, features: [{ name: 'prefers-color-scheme', value }] });

/** Walks through the page by Tab, opens whatever is closed by Enter, and returns when all has been reached. */
async function walk(tab, evaluate, report) {
  for (let place = 0, count = 1; place < count; place++) {
    await tab.press('Tab');
    let focused = await evaluate('inside.focused()');
    if (place === 0 && !focused.isSkip) report(`Tab reaches ${focused.name} first, not the link to the contents`);
    if (focused.place !== place) {
      report(`Tab reaches ${focused.name} (${focused.place + 1} of ${focused.count}) as number ${place + 1}`);
      return;
    }
    focused.found.forEach(report);
    if (focused.isClosed) {
      await tab.press('Enter');
      focused = await evaluate('inside.focused()');
      if (focused.isClosed) report(`${focused.name} is not opened by Enter`);
    }
    count = focused.count;
  }
  await evaluate("document.querySelector('a.skip')?.focus()");
  await tab.press('Enter');
  if (!(await evaluate('inside.mainHasFocus()'))) report('the link to the contents does not lead there');
}

async function picture(tab, file) {
  const { cssContentSize: { width, height } } = await tab.send('Page.getLayoutMetrics');
  const clip = { x: 0, y: 0, width, height: Math.min(height, 12_000), scale: 1 };
  const { data } = await tab.send('Page.captureScreenshot', { captureBeyondViewport: true, clip });
  writeFileSync(file, Buffer.from(data, 'base64'));
}

async function pictures(tab, name) {
  const file = (end) => path.join(work, `${name}${end}`);
  await picture(tab, file('-light.png'));
  await scheme(tab, 'dark');
  await picture(tab, file('-dark.png'));
  await scheme(tab, 'light');
  await resize(tab, PHONE);
  await picture(tab, file('-phone.png'));
  await resize(tab, WIDE);
  await scheme(tab, 'light', 'print');
  const { data } = await tab.send('Page.printToPDF', { paperWidth: 8.27, paperHeight: 11.69 });
  writeFileSync(file('.pdf'), Buffer.from(data, 'base64'));
  await scheme(tab, 'light');
}

/** Checks a page; returns the findings. */
async function check(chromium, page) {
  const url = pathToFileURL(page).href;
  const name = path.basename(page, '.html');
  const found = new Set();
  const report = (message) => found.add(message);
  const tab = await chromium.tab();
  await watch(tab, url, report);
  await resize(tab, WIDE);
  await scheme(tab, 'light');
  await tab.send('Emulation.setFocusEmulationEnabled', { enabled: true });
  const loaded = tab.next('Page.loadEventFired');
  tab.isOpen = true;
  await tab.send('Page.navigate', { url });
  await loaded;
  if (shown.includes(name) || shown.includes('all')) await pictures(tab, name);
  const evaluate = await world(tab);
  const all = async (expression, about = '') => {
    for (const finding of await evaluate(expression)) report(`${about}${finding}`);
  };
  await walk(tab, evaluate, report);
  await all('inside.structure()');
  await all('inside.axe()');
  await all('inside.pictures()', 'light: ');
  await scheme(tab, 'dark');
  await all("inside.axe(['color-contrast'])", 'dark: ');
  await all('inside.pictures()', 'dark: ');
  await scheme(tab, 'light');
  await resize(tab, PHONE);
  await all('inside.tooWide()', 'phone: ');
  await all('inside.structure()', 'phone: ');
  await tab.close();
  return found;
}

const chromium = new Chromium(program, path.join(work, 'profile'));
let findings = 0;
for (const page of pages) {
  const begun = performance.now();
  const found = await check(chromium, page);
  for (const finding of found) console.log(`${path.basename(page)}: ${finding}`);
  if (process.env.UNSPIN_PAGE_TIMES) console.error(`${path.basename(page)}: ${Math.round(performance.now() - begun)} ms`);
  findings += found.size;
}
await chromium.stop();
process.exitCode = findings > 0 ? 1 : 0;
