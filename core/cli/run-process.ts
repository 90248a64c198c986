import { setTimer } from "../kit/timers.ts";
import { constants } from "node:os";
import { isatty } from "node:tty";
import type { Logger } from "pino";
import type { ProcessTimeouts } from "../workers/protocol.ts";

/** What a process needs from the gateway it runs. */
export interface ProcessGateway {
  readonly config: { readonly timeouts: ProcessTimeouts };
  giveNotice(): void;
  drain(): void;
  close(options?: { readonly grace?: number }): Promise<void>;
}

/** Options of {@link runProcess}. */
export interface ProcessOptions {
  readonly log: Pick<Logger, "info" | "warn" | "error" | "fatal"> & Partial<Pick<Logger, "flush">>;
  /**
   * What SIGHUP does while the terminal that the process was started in is there, or there never was one; otherwise, and without
   * it, SIGHUP ends the process like SIGTERM. A failure is logged and changes nothing.
   */
  readonly onReload?: () => void | Promise<void>;
  /** Whether somebody else gives notice, and signals when it is over. */
  readonly isNotified?: boolean;
  /** Whether a standard stream is a terminal; one that was closed no longer is. */
  readonly hasTerminal?: () => boolean;
  /** The process; another one in tests. */
  readonly host?: ProcessHost;
}

/** The part of `process` that is used. */
export interface ProcessHost {
  on(event: string, listener: (argument: unknown) => void): unknown;
  off(event: string, listener: (argument: unknown) => void): unknown;
  exit(code: number): void;
  /** Ends by SIGHUP, as a process that does not listen to it. */
  hangUp(): void;
}

/** The one of {@link ProcessHost}. */
export function hangUp(): void {
  process.removeAllListeners("SIGHUP");
  process.kill(process.pid, "SIGHUP");
}

const ownProcess: ProcessHost = {
  on: (event, listener) => process.on(event, listener),
  off: (event, listener) => process.off(event, listener),
  exit: (code) => process.exit(code),
  hangUp,
};

type Ending = "SIGTERM" | "SIGINT" | "SIGHUP";

/** Room, after the grace period, for closing streams and children. */
const CLOSE_MS = 1_500;
/** Within this, SIGINT again is a copy: the terminal's Ctrl-C reaches every process, and `bun run` and yarn pass it on as well. */
const COPY_MS = 1_000;
/** How long the log may take to be written before the process exits without it. */
const FLUSH_MS = 400;
/** Calls in flight get this long when the process is broken and must go. */
const BROKEN_GRACE_MS = 5_000;

/**
 * Lets a gateway live and die with its process.
 *
 * SIGTERM and SIGINT drain it: new work is refused, calls in flight get `timeouts.grace`, then the process exits with 0, at the
 * latest 2 s after the grace period. Before that, SIGTERM gives notice for `timeouts.notice`, which a second signal cuts short:
 * a platform sends it, while balancers in front do not know yet. A further signal exits at once with 128 + its number; SIGINT
 * within a second of SIGINT does not count: it is a copy that a runner of scripts passes on. An uncaught error is logged,
 * and the process closes and exits with 1: its state can no longer be trusted.
 *
 * @returns removes the handlers again
 */
export function runProcess(
  gateway: ProcessGateway,
  {
    log,
    onReload,
    isNotified = false,
    hasTerminal = isInTerminal,
    host = ownProcess,
  }: ProcessOptions,
): () => void {
  const hadTerminal = hasTerminal();
  let ending = false;
  let interrupted = -Infinity;
  let notice: NodeJS.Timeout | undefined;

  /** Node aborts at its exit where it cannot reset a terminal that is gone, which is a crash to the system; the signal has no such end. */
  const leave = (code: number): void => {
    if (!hadTerminal || hasTerminal()) return host.exit(code);
    host.hangUp();
  };

  const end = (code: number, grace: number): void => {
    ending = true;
    clearTimeout(notice);
    shutDown(gateway, grace, log, () => flush(log, () => leave(code)));
  };

  const drain = (signal: Ending): void => {
    const { grace } = gateway.config.timeouts;
    log.info({ signal, graceMs: grace }, "shutting down");
    end(0, grace);
  };

  const giveNotice = (noticeMs: number): void => {
    log.info({ noticeMs }, "no longer ready, shutting down soon");
    gateway.giveNotice();
    notice = setTimer(() => drain("SIGTERM"), noticeMs);
  };

  const onEnd = (signal: Ending) => (): void => {
    if (signal === "SIGINT" && performance.now() - interrupted < COPY_MS) return;
    if (ending) {
      log.warn({ signal }, "second signal, exiting at once");
      host.exit(128 + constants.signals[signal]);
      return;
    }
    if (signal === "SIGINT") interrupted = performance.now();
    const noticeMs = isNotified || notice ? 0 : gateway.config.timeouts.notice;
    if (signal === "SIGTERM" && noticeMs > 0) giveNotice(noticeMs);
    else drain(signal);
  };

  const onBroken = (error: unknown): void => {
    log.fatal({ err: error }, "uncaught error, shutting down");
    if (!ending) end(1, Math.min(BROKEN_GRACE_MS, gateway.config.timeouts.grace));
  };

  const onHangUp = onEnd("SIGHUP");
  const reload = (): void => {
    // Closing the window means the gateway, too: it would hold its ports and children with nobody to see it.
    if (!onReload || (hadTerminal && !hasTerminal())) return onHangUp();
    if (ending) return;
    // The async function turns a synchronous throw into a rejection too.
    (async () => onReload())().catch((error: unknown) =>
      log.error({ err: error }, "reload failed"),
    );
  };

  const handlers: readonly (readonly [string, (argument: unknown) => void])[] = [
    ["SIGTERM", onEnd("SIGTERM")],
    ["SIGINT", onEnd("SIGINT")],
    ["SIGHUP", reload],
    ["uncaughtException", onBroken],
    ["unhandledRejection", onBroken],
  ];
  for (const [event, handler] of handlers) host.on(event, handler);
  return () => {
    for (const [event, handler] of handlers) host.off(event, handler);
  };
}

function isInTerminal(): boolean {
  return [0, 1, 2].some((stream) => isatty(stream));
}

/**
 * Ends the process, with 0, at a SIGTERM or SIGINT that comes before there is a gateway to drain: process 1 of a container has no
 * default for signals, and would be deaf until it is killed.
 *
 * @returns removes the handlers again, once {@link runProcess} has its own
 */
export function endWhileStarting(
  host: Pick<ProcessHost, "on" | "off" | "exit"> = process,
): () => void {
  const leave = (): void => host.exit(0);
  for (const signal of ["SIGTERM", "SIGINT"]) host.on(signal, leave);
  return () => {
    for (const signal of ["SIGTERM", "SIGINT"]) host.off(signal, leave);
  };
}

/** Closes the gateway and leaves, at the latest when the grace period and a little more are over. */
function shutDown(
  gateway: ProcessGateway,
  grace: number,
  log: ProcessOptions["log"],
  leave: () => void,
): void {
  gateway.drain();
  const deadline = setTimer(() => {
    log.warn({ graceMs: grace }, "closing takes too long, exiting");
    leave();
  }, grace + CLOSE_MS);
  gateway
    .close({ grace })
    .catch((error: unknown) =>
      log.error({ err: error }, "closing the gateway left something behind"),
    )
    .finally(() => {
      clearTimeout(deadline);
      leave();
    });
}

/** Waits until the log is written: it is written in the background, and its last lines say how the process ended. */
function flush(log: ProcessOptions["log"], done: () => void): void {
  if (!log.flush) return done();
  const timer = setTimeout(done, FLUSH_MS);
  log.flush(() => {
    clearTimeout(timer);
    done();
  });
}
