import { Counter } from "prom-client";
import { expect, it } from "vitest";
import { createGateway, definePlugin, optional, type AnyPlugin } from "../../../core/index.ts";
import { Metrics } from "../../../core/kit.ts";

/** A gateway whose plugin `tasks`, which is on by default, is another one. */
async function startWith(tasks: AnyPlugin): Promise<void> {
  const gateway = await createGateway(
    { listeners: { main: { port: 0 } }, log: { level: "silent" } },
    { plugins: { tasks } },
  );
  await gateway.close();
}

it("a plugin that is on by default has no metrics, and is told so", async () => {
  const counting = definePlugin({ name: "tasks", inject: { metrics: Metrics }, setup() {} });
  await expect(startWith(counting)).rejects.toMatchObject({
    message: expect.stringContaining(
      "A plugin that is on by default has no metrics of its own.",
    ) as string,
    hint: "Inject optional(Metrics), or count in another plugin.",
  });
});

it("a plugin that is on by default can do without, where it says so", async () => {
  let seen: unknown = "nothing";
  const careful = definePlugin({
    name: "tasks",
    inject: { metrics: optional(Metrics) },
    setup({ services: { metrics } }) {
      seen = metrics;
      metrics?.registerMetric(new Counter({ name: "n", help: "N.", registers: [] }));
    },
  });
  await startWith(careful);
  expect(seen).toBeUndefined();
});
