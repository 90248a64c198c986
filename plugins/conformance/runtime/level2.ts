import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { atLevel, Deviation, demand, shown, Unobservable, type Check } from "../check.ts";
import { lazy } from "../lazy.ts";
import { taskIn, wordsOf } from "./answer.ts";
import type { Exit } from "./child.ts";
import { parsed } from "./exchange.ts";
import type { Scene, Undisturbed } from "./scene.ts";
import { LEAVE_MS, watchShutdown, type Shutdown } from "./shutdown.ts";
import { timeoutSignal } from "propylon/kit";

/** Longest wait for a trace unless the options say otherwise, in milliseconds. */
const TRACE_MS = 8_000;

/** What can be seen of a running process. */
export const RUNNING = atLevel<Scene>(2, [
  {
    id: "R070",
    title: "the trace of the Traceparent header goes on in spans, log or answer",
    run: findTrace,
  },
]);

/** What only shows when the process ends. The runtime is gone afterwards. */
export function endingChecks(): readonly Check<Scene>[] {
  const watch = lazyShutdown();
  return atLevel<Scene>(2, [
    {
      id: "R071",
      title: "a new task during the shutdown is answered with 503",
      run: async (scene) => demandRefusal(await watch(scene)),
    },
    {
      id: "R056",
      title: "a task in flight at SIGTERM is finished within TERMINATION_GRACE_PERIOD",
      async run(scene) {
        const shutdown = await watch(scene);
        demandFinished(shutdown);
        demandWhole(shutdown, await scene.undisturbed());
      },
    },
    {
      id: "R068",
      title: "SIGTERM ends the process with 0 within TERMINATION_GRACE_PERIOD",
      run: async (scene) => demandExit(await watch(scene), scene.options.grace),
    },
    { id: "R069", title: "standard output is one JSON object a line", run: demandLog },
  ]);
}

/** What shows of a runtime whose grace period is shorter than its task. */
export const EXPIRY = atLevel<Scene>(2, [
  {
    id: "R057",
    title: "a task that outlasts TERMINATION_GRACE_PERIOD is cancelled",
    async run({ subject, child, options, undisturbed }) {
      const whole = await undisturbed();
      const shutdown = await watchShutdown(subject, child!, options);
      const { task, signalledAt } = shutdown;
      demandBusy(shutdown);
      demandWhole(shutdown, whole);
      const isDone = "reply" in task && taskIn(task.reply).status.state === "completed";
      const took = task.at - signalledAt;
      if (isDone && took <= options.grace)
        throw new Unobservable(`The task was over before the grace period was. ${SLOW}`);
      demand(
        !isDone || took <= options.grace + 500,
        `The task went on for ${Math.round(took)} ms, and the grace period was ${options.grace} ms.`,
      );
      demandEnd(shutdown, options.grace);
    },
  },
]);

/** Stands in for the checks that need a process, where there is none to signal. */
export function withoutProcess(checks: readonly Check<Scene>[]): readonly Check<Scene>[] {
  return checks.map((check) => ({
    ...check,
    run() {
      throw new Unobservable(
        "Only a process that the kit started can be signalled and read. Give its command behind --.",
      );
    },
  }));
}

/** Share of its time below which a task cannot have come to its end. */
const CUT = 0.75;

const SLOW = "Give a message that takes at least four seconds with --slow.";

/** One shutdown for all the checks that look at it. */
function lazyShutdown(): (scene: Scene) => Promise<Shutdown> {
  let watch: (() => Promise<Shutdown>) | undefined;
  return ({ subject, child, options, undisturbed }) => {
    watch ??= lazy(async () => {
      // There is no other time for it: the runtime is gone afterwards.
      await undisturbed();
      return watchShutdown(subject, child!, options);
    });
    return watch();
  };
}

async function findTrace({ subject, options, child, collector }: Scene): Promise<void> {
  const traceId = randomBytes(16).toString("hex");
  const traceparent = `00-${traceId}-${randomBytes(8).toString("hex")}-01`;
  const reply = await subject.send({ text: options.probes.message }, { traceparent });
  const answer = `${reply.text}\n${JSON.stringify(reply.headers)}`;
  const isFound = (): boolean =>
    answer.includes(traceId) ||
    (collector?.saw(traceId) ?? false) ||
    (child?.lines.some((line) => line.includes(traceId)) ?? false);
  const signal = timeoutSignal(options.traceWait ?? TRACE_MS);
  while (!isFound() && child && !signal.aborted)
    await nextSign(child.events, collector!.events, signal);
  if (isFound()) return;
  if (child)
    throw new Deviation(
      "The trace id was in no span sent to OTEL_EXPORTER_OTLP_ENDPOINT, no line of the log and no answer.",
    );
  throw new Unobservable(
    "The answer does not name the trace id, and log and spans are not seen from here. Give the command behind --.",
  );
}

/** Resolves when the log or the collector got something, or the time is over. */
async function nextSign(
  log: NodeJS.EventEmitter,
  spans: NodeJS.EventEmitter,
  signal: AbortSignal,
): Promise<void> {
  const heard = new AbortController();
  const either = { signal: AbortSignal.any([signal, heard.signal]) };
  await Promise.race([once(log, "line", either), once(spans, "export", either)]).catch(() => {});
  heard.abort();
}

function demandBusy({ wasBusy }: Shutdown): void {
  if (!wasBusy) throw new Unobservable(`No task was in flight when SIGTERM was sent. ${SLOW}`);
}

function demandRefusal(shutdown: Shutdown): void {
  demandBusy(shutdown);
  const { late } = shutdown;
  const answered = late.find((ending) => "reply" in ending);
  if (answered) {
    const { status, text } = answered.reply;
    return demand(status === 503, `A new task was answered with ${status}: ${shown(text)}`);
  }
  const [first] = late;
  if (first)
    throw new Deviation(
      `A new task got no answer while another was in flight: ${"broken" in first ? first.broken : ""}.`,
    );
  throw new Unobservable(`The runtime was gone before a new task could be sent. ${SLOW}`);
}

function demandFinished(shutdown: Shutdown): void {
  demandBusy(shutdown);
  const { task } = shutdown;
  if ("broken" in task) throw new Deviation(`The task in flight got no answer: ${task.broken}.`);
  const { state } = taskIn(task.reply).status;
  demand(state === "completed", `The task in flight was answered as ${state}.`);
}

/** A task that was cut off is not a completed one: half an answer would pass for a whole. */
function demandWhole({ task, sentAt }: Shutdown, whole: Undisturbed | undefined): void {
  if (!whole || !("reply" in task)) return;
  const answered = taskIn(task.reply);
  if (answered.status.state !== "completed" || wordsOf(answered) === whole.words) return;
  const took = task.at - sentAt;
  demand(
    took > whole.took * CUT,
    `The task was reported as completed after ${Math.round(took)} ms with another answer, and undisturbed it takes ${Math.round(whole.took)} ms: it was cut off.`,
  );
}

function demandEnd({ exit }: Shutdown, grace: number): Exit {
  if (exit) return exit;
  const seconds = (grace + LEAVE_MS) / 1_000;
  throw new Deviation(`It still ran ${seconds} s after SIGTERM, and was killed.`);
}

function demandExit(shutdown: Shutdown, grace: number): void {
  const { signalledAt } = shutdown;
  const exit = demandEnd(shutdown, grace);
  const how = exit.signal === null ? `exit code ${exit.code}` : exit.signal;
  demand(
    exit.code === 0,
    `It ended ${Math.round(exit.at - signalledAt)} ms after SIGTERM with ${how}, not with 0.`,
  );
}

function demandLog({ child }: Scene): void {
  const lines = (child?.lines ?? []).filter((line) => line.trim() !== "");
  demand(lines.length > 0, "Nothing was written to standard output.");
  const other = lines.find((line) => {
    const value = parsed(line);
    return typeof value !== "object" || value === null || Array.isArray(value);
  });
  demand(other === undefined, `This line is not a JSON object: ${shown(other)}`);
}
