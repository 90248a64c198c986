/**
 * The load generator of queues, in a process of its own. Commands come over IPC, one at a time:
 *   open  { url, subject } | { http }   a queue in NATS, or one behind HTTP
 *   drain { tasks }                     hands that many in at once; how fast they are done
 *   pace  { ms, rate }                  hands in at a fixed rate; how long each takes until its result is there
 * Every task must be done exactly once and the result must be its own; anything else voids the run.
 */
import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { Agent, request } from "undici";

/** How many tasks are on their way into the queue at once. */
const WINDOW = 64;

let submit;
let nextId = 0;
let fault;

function orderOf(task) {
  const parts = [{ text: "Implement feature X, as it was agreed with those who will use it." }];
  return JSON.stringify({ message: { messageId: `m-${task}`, role: "user", parts, taskId: task } });
}

function open({ url, subject, http }) {
  return url ? openNats(url, subject) : openHttp(http);
}

/** Over JetStream; results are heard on their subjects. */
async function openNats(url, subject) {
  const connection = await connect({ servers: url });
  const js = jetstream(connection);
  const waiting = new Map();
  const finish = (_error, message) => {
    const task = message.subject.split(".").at(-1);
    const done = waiting.get(task);
    waiting.delete(task);
    if (!done) fault = `task ${task} was done twice, or never handed in`;
    else if (message.data.length > 0) check(task, message.string());
    done?.();
  };
  for (const done of ["agent.results.*", "bench.done.*"])
    connection.subscribe(done, { callback: finish });
  await connection.flush();
  submit = (task) => {
    const result = new Promise((done) => waiting.set(task, done));
    return { stored: js.publish(subject, orderOf(task)), result };
  };
}

/** Over HTTP; a result is waited for with one request. */
function openHttp(url) {
  const dispatcher = new Agent({ connections: WINDOW });
  const send = async (address, options) => {
    const { body } = await request(address, { dispatcher, ...options });
    return body.text();
  };
  submit = (task) => {
    const headers = { "content-type": "application/json" };
    const stored = send(url, { method: "POST", headers, body: orderOf(task) });
    const result = stored.then(() => send(`${url}/${task}?wait=60s`));
    return { stored, result: result.then((text) => check(task, text)) };
  };
}

function check(task, text) {
  if (!text.includes(`done ${task}`)) fault = `the result of ${task} is ${text}`;
}

/** Hands one task in; `done` resolves with the milliseconds until its result is there. */
function handIn() {
  const from = performance.now();
  const { stored, result } = submit(`b${process.pid}-${nextId++}`);
  return { stored, done: result.then(() => performance.now() - from) };
}

async function drain({ tasks }) {
  const from = performance.now();
  const all = [];
  const onTheirWay = [];
  for (let index = 0; index < tasks; index++) {
    const { stored, done } = handIn();
    all.push(done);
    onTheirWay.push(stored);
    if (onTheirWay.length === WINDOW) await Promise.all(onTheirWay.splice(0));
  }
  await Promise.all([...onTheirWay, ...all]);
  return { count: tasks, rps: (tasks * 1000) / (performance.now() - from) };
}

async function pace({ ms, rate }) {
  const all = [];
  const from = performance.now();
  for (let count = 0; count < (ms * rate) / 1000; count++) {
    const wait = from + (count * 1000) / rate - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const { stored, done } = handIn();
    all.push(stored.then(() => done));
  }
  const sorted = (await Promise.all(all)).toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.floor(sorted.length * share)];
  return { count: sorted.length, rps: rate, p50: at(0.5), p99: at(0.99) };
}

const COMMANDS = { open, drain, pace };

async function run({ command, options }) {
  try {
    const result = await COMMANDS[command](options);
    if (fault) throw new Error(fault);
    process.send({ result });
  } catch (error) {
    process.send({ error: error.message });
  }
}

process.on("message", (message) => void run(message));
