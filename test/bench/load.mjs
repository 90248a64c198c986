/**
 * The load generator, in a process of its own. Commands come over IPC, one at a time:
 *   prepare { port, path, dialect, call, connections, bytes? }   opens connections and sessions
 *   run     { ms }                                               closed loop: the next request follows its answer
 *   count   { calls }                                            closed loop: that many calls
 *   pace    { ms, rate }                                         open loop at a fixed rate
 *   cycle   { port, path, ms }                                   sessions opened and ended, one after the other on 16 connections
 *   finish                                                       closes what prepare opened
 * Every response is checked; one wrong answer voids the run.
 */
import { Connection } from "./connection.mjs";
import { CALLS, converse } from "./dialect.mjs";
import { cycleSessions, openSessions, relayProgress } from "./streams.mjs";

let lanes = [];
let options;
let nextId = 100_000_000;

async function prepare(wanted) {
  const call = CALLS[wanted.call];
  const callOf = (lane) => (typeof call === "function" ? call(wanted, lane) : call);
  options = { ...wanted, call: callOf(0) };
  lanes = await Promise.all(
    Array.from({ length: wanted.connections }, async (_, lane) => {
      const connection = await Connection.open(wanted.port);
      return {
        connection,
        build: await converse(connection, { ...options, call: callOf(lane) }),
      };
    }),
  );
}

function finish() {
  for (const { connection } of lanes) connection.close();
  lanes = [];
}

/** One request on one lane; resolves with its latency in milliseconds. */
function once(lane, latencies, done) {
  const id = String(nextId++);
  const from = performance.now();
  lane.connection.send(lane.build(id), (error, response) => {
    if (error) return done(error);
    if (!options.call.check(response, id, options)) {
      return done(
        new Error(
          `wrong answer (${response.status}) to request ${id}: ${response.length ? response.edges() : "empty"}`,
        ),
      );
    }
    latencies.push(performance.now() - from);
    return done();
  });
}

function closedLoop({ ms }) {
  const until = performance.now() + ms;
  return loop(() => performance.now() < until);
}

function countedLoop({ calls }) {
  let left = calls - lanes.length;
  return loop(() => left-- > 0);
}

/** Every lane sends its next request when its answer is there, as long as `more()`. */
function loop(more) {
  const latencies = [];
  const from = performance.now();
  return new Promise((resolve, reject) => {
    let open = lanes.length;
    const next = (lane) =>
      once(lane, latencies, (error) => {
        if (error) reject(error);
        else if (more()) next(lane);
        else if (--open === 0) resolve(summary(latencies, performance.now() - from));
      });
    lanes.forEach(next);
  });
}

function openLoop({ ms, rate }) {
  const latencies = [];
  const idle = [...lanes];
  const total = Math.round((ms / 1000) * rate);
  const from = performance.now();
  return new Promise((resolve, reject) => {
    let sent = 0;
    const timer = setInterval(() => {
      const due = Math.min(total, Math.floor(((performance.now() - from) / 1000) * rate));
      while (sent < due) {
        const lane = idle.pop();
        if (!lane) return; // all connections busy: the target is slower than the rate, which the latencies show
        sent++;
        once(lane, latencies, (error) => {
          idle.push(lane);
          if (!error && latencies.length < total) return;
          clearInterval(timer);
          if (error) reject(error);
          else resolve(summary(latencies, performance.now() - from));
        });
      }
    }, 1);
  });
}

function summary(latencies, elapsed) {
  const sorted = Float64Array.from(latencies).toSorted();
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return {
    count: sorted.length,
    rps: (sorted.length / elapsed) * 1000,
    p50: at(0.5),
    p99: at(0.99),
    p999: at(0.999),
  };
}

const COMMANDS = {
  prepare,
  run: closedLoop,
  count: countedLoop,
  pace: openLoop,
  finish,
  sessions: openSessions,
  cycle: cycleSessions,
  progress: relayProgress,
};

process.on("message", (message) => void obey(message));

async function obey({ command, options: wanted }) {
  try {
    process.send({ result: (await COMMANDS[command](wanted)) ?? {} });
  } catch (error) {
    process.send({ error: error.message });
  }
}
