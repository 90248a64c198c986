import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import { JobQuestions, JobRecords, type JobRef } from "../../../plugins/tasks/index.ts";

const JOB: JobRef = { id: "job", owner: { ref: "user:ada" } };

/** A store that others use, and its driver. */
function openStore() {
  const driver = new MemoryDriver();
  Object.assign(driver, { shared: true, durable: true });
  const gateway = new GatewayStore(driver, pino({ level: "silent" }));
  onTestFinished(() => gateway.close());
  return { driver, store: gateway.scope("holder") };
}

it("whether a job is somebody else's is not known while the store is away", async () => {
  const { driver, store } = openStore();
  const records = new JobRecords<JobRef, { replica: string }>(store, "jobs", {
    schema: z.object({ replica: z.string() }),
    toRecord: (_, replica) => ({ replica }),
    isUnderWay: () => true,
  });
  driver.put = () => Promise.reject(new Error("away"));
  await expect(records.claim(JOB, { persists: false })).rejects.toMatchObject({
    code: "unavailable",
  });
});

it("where no other replica is nobody is answered", async () => {
  const gateway = GatewayStore.inMemory(pino({ level: "silent" }));
  onTestFinished(() => gateway.close());
  const store = gateway.scope("holder");
  let answers = 0;
  const asked = new Proxy(store, {
    get: (target, name) =>
      name === "answer"
        ? () => (answers++, Promise.resolve(() => Promise.resolve()))
        : Reflect.get(target, name),
  });
  const end = await new JobQuestions(asked, z.unknown()).serve(() => Promise.resolve(undefined));
  end();
  expect(answers).toBe(0);
});
