// A headless Chromium, driven through two pipes by its DevTools protocol.

import { spawn } from 'node:child_process';

/** Milliseconds after which a command without an answer is an error: a page that hangs ends the check. */
const PATIENCE_MS = 180_000;

export class Chromium {
  #process;
  #number = 0;
  #unanswered = new Map();
  #tabs = new Map();

  /** Starts the program with a profile in this folder. */
  constructor(program, profile) {
    const options = [
      '--headless', '--no-sandbox', '--disable-gpu', '--disable-extensions', '--disable-component-update',
      '--disable-background-networking', '--no-first-run', '--no-default-browser-check', '--hide-scrollbars',
      '--force-color-profile=srgb', '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank',
    ];
    this.#process = spawn(program, options, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.#process.on('error', (error) => this.#end(error));
    this.#process.on('exit', (code, signal) => this.#end(new Error(`Chromium ended: ${signal ?? `exit code ${code}`}`)));
    this.#process.stdio[3].on('error', (error) => this.#end(error));
    this.#read(this.#process.stdio[4]);
  }

  /** Sends a command, to a tab if its session is given, and returns the answer. */
  send(method, params = {}, sessionId = undefined) {
    const id = ++this.#number;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`Chromium did not answer ${method}`)), PATIENCE_MS);
      this.#unanswered.set(id, { resolve, reject, timer, method });
      this.#process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0');
    });
  }

  /** Opens a tab. */
  async tab() {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const tab = new Tab(this, targetId, sessionId);
    this.#tabs.set(sessionId, tab);
    return tab;
  }

  /** Ends the program. */
  async stop() {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.send('Browser.close').catch(() => {});
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), 5_000);
    await ended;
    clearTimeout(timer);
  }

  #read(pipe) {
    let parts = [];
    pipe.on('data', (data) => {
      for (let end; (end = data.indexOf(0)) >= 0; data = data.subarray(end + 1)) {
        this.#take(JSON.parse(Buffer.concat([...parts, data.subarray(0, end)]).toString()));
        parts = [];
      }
      parts.push(data);
    });
  }

  #take(message) {
    const waiting = this.#unanswered.get(message.id);
    if (!waiting) {
      this.#tabs.get(message.sessionId)?.take(message.method, message.params);
      return;
    }
    this.#unanswered.delete(message.id);
    clearTimeout(waiting.timer);
    if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
    else waiting.resolve(message.result);
  }

  #end(error) {
    for (const { reject, timer } of this.#unanswered.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#unanswered.clear();
  }
}

export class Tab {
  #listeners = [];

  constructor(chromium, targetId, sessionId) {
    this.chromium = chromium;
    this.targetId = targetId;
    this.sessionId = sessionId;
  }

  send(method, params) {
    return this.chromium.send(method, params, this.sessionId);
  }

  /** Calls the function for each event of this name. */
  on(event, call) {
    this.#listeners.push({ event, call });
  }

  /** Resolves with the next event of this name. */
  next(event) {
    return new Promise((resolve) => this.on(event, resolve));
  }

  take(event, params) {
    for (const listener of this.#listeners) if (listener.event === event) listener.call(params);
  }

  /** Presses and releases a key: `Tab`, `Enter`. */
  async press(key) {
    const code = { Tab: 9, Enter: 13 }[key];
    const params = { key, code: key, windowsVirtualKeyCode: code, ...(key === 'Enter' ? { text: '\r' } : {}) };
    await this.send('Input.dispatchKeyEvent', { type: key === 'Enter' ? 'keyDown' : 'rawKeyDown', ...params });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...params });
  }

  close() {
    return this.chromium.send('Target.closeTarget', { targetId: this.targetId });
  }
}
