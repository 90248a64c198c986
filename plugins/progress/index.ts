import { definePlugin, type Answer, type Call, type Next } from "propylon";
import { amendCall } from "propylon/kit";
import { Heartbeat } from "./heartbeat.ts";
import { Meter } from "./meter.ts";
import { optionsSchema, type ProgressOptions } from "./options.ts";
import { Reporter } from "./reporter.ts";
import { AgentProgress } from "./service.ts";

export * from "./service.ts";

/** Progress of calls: bounded, increasing, never silent; and the words for what agents do. */
export default definePlugin({
  name: "progress",
  config: optionsSchema,
  provides: AgentProgress,
  setup(gateway) {
    const { config } = gateway;
    // Around the deadline and not in the stage of its name: a heartbeat of ours must not pass for a sign of life of the server.
    gateway.use("validate", (call, next) =>
      // A caller without a token gets nothing, and costs nothing.
      call.progress ? follow(call, next, config) : next(call),
    );
    return {
      reporterFor: ({ progress }, agent) => progress && new Reporter(agent, progress, config),
    };
  },
});

function follow(call: Call, next: Next, options: ProgressOptions): Promise<Answer> {
  const send = call.progress!;
  const meter = new Meter((report) => send(report), options);
  const heartbeat =
    options.heartbeatInterval > 0
      ? new Heartbeat(call, options.heartbeatInterval, meter)
      : undefined;
  const amended = amendCall(call, {
    progress(report) {
      heartbeat?.heard(report);
      meter.report(report);
    },
  });
  const end = (): void => {
    heartbeat?.end();
    meter.end();
  };
  // The last state goes out before the answer does: a client drops what comes after it.
  return next(amended).then(
    (answer) => {
      end();
      return answer;
    },
    (error: unknown) => {
      end();
      throw error;
    },
  );
}
