import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { GatewayError } from "../../../core/index.ts";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import { RELAY_TOPIC, type RelayQuestion } from "../../../plugins/servers/replicas/relay.ts";
import { RemoteServer } from "../../../plugins/servers/replicas/remote-server.ts";
import { ClientInterests } from "../../../plugins/servers/replicas/client-interests.ts";

it("thousands of watched resources are all told to the gateway that runs the server after a move", async () => {
  const driver = new MemoryDriver();
  const [here, there] = await Promise.all(
    [0, 1].map(async () => {
      const gateway = new GatewayStore(driver, pino({ level: "silent" }));
      onTestFinished(() => gateway.close());
      await gateway.join();
      return gateway.scope("servers");
    }),
  );
  const told = new Set<string>();
  await there!.answer(RELAY_TOPIC, async function* (question: RelayQuestion, signal) {
    if (question.verb === "want") {
      await new Promise((resolve) => setImmediate(resolve));
      told.add(question.subscribe!);
      return;
    }
    yield { status: {} };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  const wants = new ClientInterests();
  for (let each = 0; each < 3_000; each++) await wants.subscribe(`res://${each}`, undefined);
  const remote: RemoteServer = new RemoteServer({
    name: "placed",
    store: here!,
    replica: there!.replica,
    fence: 1,
    maxDepth: 10,
    hear: () => {},
    followed: () => wants.tell(remote),
    lost: () => {},
  });
  onTestFinished(() => remote.close(new GatewayError("unavailable", "The test is over."), 0));
  await expect.poll(() => told.size, { timeout: 20_000 }).toBe(3_000);
});
