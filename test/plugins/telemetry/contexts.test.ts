import { context, trace } from "@opentelemetry/api";
import { definePlugin, type PluginDefinition } from "propylon";
import { expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import telemetry, { withSpan } from "../../../plugins/telemetry/index.ts";
import { quietContexts } from "../../../plugins/telemetry/registration.ts";
import { startCollector } from "./collector.ts";
import { serveUpstream } from "./upstream.ts";

/** A gateway with one server, between which and the client a plugin stands. */
async function start(plugins: readonly PluginDefinition[]) {
  const upstream = await serveUpstream();
  const collector = await startCollector();
  const options = { endpoint: collector.url, interval: "100ms" };
  const started = await setupGateway({
    plugins: [...plugins, [telemetry, options]],
    config: { servers: { up: { url: upstream.url } } },
  });
  const call = () => started.client.callTool({ name: "t", arguments: {} });
  return { ...started, upstream, collector, call };
}

it("no context is carried through relayed calls where nobody asks for one, and no export asks", async () => {
  const { collector, call } = await start([]);
  await call();
  const exported = collector.bodies.length;
  await collector.until(() => collector.bodies.length >= exported + 2);
  expect(quietContexts()?.isAsked).toBe(false);
  await call();
  expect(quietContexts()).toBeDefined();
});

it("a stage that asks finds the call it works on: at once in its turn, and from then on behind every wait", async () => {
  const seen: (string | undefined)[] = [];
  const look = (): void => void seen.push(trace.getSpanContext(context.active())?.traceId);
  const asking = definePlugin({
    name: "asking",
    setup(gateway) {
      gateway.use("gate", async (call, next) => {
        look();
        const answer = await next(call);
        look();
        trace.getActiveSpan()?.setAttribute("asked", seen.length);
        return answer;
      });
    },
  });
  const { collector, call, gateway } = await start([asking]);
  await call();
  await call();
  await gateway.close();
  const served = collector.spans.filter(({ kind }) => kind === 2);
  const [first, second] = served.map(({ traceId }) => traceId);
  expect([seen[0], ...seen.slice(2)]).toEqual([first, second, second]);
  expect(served[1]!.attributes["asked"]).toBe(4);
  expect(quietContexts()).toBeUndefined();
});

it("a span of a stage is below that of the call, and the hop below the span of the stage", async () => {
  const working = definePlugin({
    name: "working",
    setup(gateway) {
      gateway.use("gate", (call, next) =>
        withSpan("work", {}, ({ meta }) => next({ ...call, meta: { ...call.meta, ...meta } })),
      );
    },
  });
  const { collector, call, gateway, upstream } = await start([working]);
  await call();
  await gateway.close();
  const [served, work, hop] = ["2", "1", "3"].map((kind) =>
    collector.spans.find((span) => String(span.kind) === kind)!,
  );
  expect([work!.parentSpanId, hop!.parentSpanId]).toEqual([served!.spanId, work!.spanId]);
  const { traceId, spanId } = hop!;
  expect(upstream.calls.at(-1)!.headers["traceparent"]).toBe(`00-${traceId}-${spanId}-01`);
});
