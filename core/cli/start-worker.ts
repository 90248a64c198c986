import { EventEmitter } from "node:events";
import { createLogger } from "../config/log.ts";
import { type ChannelPort, WorkerChannel } from "../workers/channel.ts";
import { type InForce, type Orders, WORKER } from "../workers/protocol.ts";
import { WorkerSeat } from "../workers/worker-seat.ts";
import { setTicker } from "../kit/timers.ts";
import { EXIT, tellFailure } from "./exit.ts";
import { loadStart, openGateway, SETTLE_MS, type StartOptions } from "./open-gateway.ts";
import { hangUp, type ProcessHost, runProcess } from "./run-process.ts";
import { summarise, whenSettled } from "./summary.ts";

/** Between two looks whether the primary is still there, in milliseconds. A service manager starts the next no sooner. */
const LOOK_MS = 1_000;

/** Runs a gateway as one of several processes, until the primary says that it is to end. What goes wrong before it serves is told, and ends it. */
export async function startWorker(options: StartOptions): Promise<void> {
  const channel = new WorkerChannel(process as ChannelPort);
  const host = createHost(channel);
  leaveWithPrimary(channel);
  try {
    await serve(options, channel, host);
  } catch (error) {
    host.exit(tellFailure(error));
  }
}

async function serve(
  options: StartOptions,
  channel: WorkerChannel,
  host: ProcessHost,
): Promise<void> {
  const notice = noticeFrom(channel);
  const orders = await channel.ask<Orders>(WORKER.join);
  const { file, checked, cwd } = await loadStart(options, orders.text);
  // The primary makes it readable, where a person reads along.
  const plain = await createLogger({ ...checked.config.values.log, format: "json" });
  const log = plain.child({ worker: orders.number });
  const seat = new WorkerSeat(channel, orders);
  const gateway = await openGateway(checked, { cwd, log, seat, ...(file && { file }) });
  const tellInForce = (): void => {
    const { texts, code } = gateway.sources;
    const inForce: InForce = { sources: [...texts, ...code], timeouts: gateway.config.timeouts };
    channel.tell(WORKER.inForce, inForce);
  };
  gateway.hook("reload:done", tellInForce);
  // The primary waits, for all of them.
  runProcess(gateway, { log, host, isNotified: true });
  const giveNotice = (): void => gateway.giveNotice();
  if (notice.aborted) giveNotice();
  else notice.addEventListener("abort", giveNotice, { once: true });
  channel.answer(WORKER.summary, async () => {
    await whenSettled(gateway, SETTLE_MS);
    return summarise(gateway);
  });
  channel.answer(WORKER.ping, () => {});
  tellInForce();
  channel.tell(WORKER.ready);
}

/** Aborts when the gateway is to say that it will end soon, which may be before there is one. */
function noticeFrom(channel: WorkerChannel): AbortSignal {
  const given = new AbortController();
  channel.answer(WORKER.notice, () => given.abort());
  return given.signal;
}

/**
 * Ends the process when the primary is gone: it would hold the port, and answer without a store. Node emits no `disconnect` when the
 * primary dies in the middle of a message, which a busy channel always has; so the channel's own end counts, and one looks, too.
 */
function leaveWithPrimary(channel: WorkerChannel): void {
  const { ppid } = process;
  const leave = (): void => process.exit(EXIT.unreachable);
  channel.closed.addEventListener("abort", leave, { once: true });
  setTicker(() => {
    if (!process.connected || process.ppid !== ppid) leave();
  }, LOOK_MS).unref();
}

/** The process, whose signals come from the primary: a terminal and a service manager send theirs to every process. */
function createHost(channel: WorkerChannel): ProcessHost {
  const signals = new EventEmitter();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  channel.answer(WORKER.end, () => signals.emit("SIGTERM"));
  const sourceOf = (event: string): EventEmitter => (event.startsWith("SIG") ? signals : process);
  return {
    on: (event, listener) => sourceOf(event).on(event, listener),
    off: (event, listener) => sourceOf(event).off(event, listener),
    exit: (code) => process.exit(code),
    hangUp,
  };
}
