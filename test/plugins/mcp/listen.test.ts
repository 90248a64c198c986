import { EventEmitter, once } from "node:events";
import type { Json } from "propylon";
import { afterEach, expect, it } from "vitest";
import { FakeServer, postModern, serve, type Served } from "./kit.ts";

const WATCHED = { uri: "x://a", name: "a" };

let served: Served;
afterEach(() => served.close());

/** A server that answers subscriptions only when the test lets it. */
class SlowServer extends FakeServer {
  readonly #answers: { resolve: () => void; reject: (error: Error) => void }[] = [];
  readonly #emitter = new EventEmitter();
  /** Resolves with the first subscription. */
  readonly asked = once(this.#emitter, "asked");

  constructor() {
    super("slow", { resources: [WATCHED], capabilities: { resources: {} } });
  }

  override subscribe(): Promise<void> {
    this.#emitter.emit("asked");
    return new Promise((resolve, reject) => void this.#answers.push({ resolve, reject }));
  }

  agree(): void {
    for (const { resolve } of this.#answers) resolve();
  }

  refuse(): void {
    for (const { reject } of this.#answers) reject(new Error("no"));
  }
}

async function listen(notifications: Json): Promise<() => Promise<Json>> {
  const response = await postModern(served.url, "L", "subscriptions/listen", { notifications });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  return async () => {
    const { value } = await reader.read();
    return JSON.parse(value!.slice(value!.indexOf("data: ") + 6)) as Json;
  };
}

it("acknowledges a resource only when its server knows, and sends nothing before", async () => {
  const server = new SlowServer();
  served = await serve([server]);
  const next = await listen({ resourceSubscriptions: [WATCHED.uri], toolsListChanged: true });
  await server.asked;
  server.emit({ type: "updated", params: { uri: WATCHED.uri } });
  served.endpoint.update(
    served.content([server.tool("new", () => Promise.reject(new Error("never called")))]),
  );
  server.agree();
  expect(await next()).toMatchObject({
    method: "notifications/subscriptions/acknowledged",
    params: { notifications: { toolsListChanged: true, resourceSubscriptions: [WATCHED.uri] } },
  });
  server.emit({ type: "updated", params: { uri: WATCHED.uri } });
  expect(await next()).toMatchObject({ method: "notifications/resources/updated" });
});

it("leaves out of the acknowledgement what a server refused", async () => {
  const server = new SlowServer();
  served = await serve([server]);
  const next = await listen({
    resourceSubscriptions: [WATCHED.uri],
    toolsListChanged: true,
  });
  await server.asked;
  server.refuse();
  const acknowledged = await next();
  expect(acknowledged["params"]).toMatchObject({ notifications: { toolsListChanged: true } });
  expect((acknowledged["params"] as Json)["notifications"]).not.toHaveProperty(
    "resourceSubscriptions",
  );
});
