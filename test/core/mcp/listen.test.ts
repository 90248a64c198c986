import { afterEach, expect, it } from "vitest";
import type { Json } from "../../../core/types.ts";
import { FakeProvider, postModern, serve, type Served } from "./kit.ts";

const WATCHED = { uri: "x://a", name: "a" };

let served: Served;
afterEach(() => served.close());

/** A server that answers a subscription only when the test lets it. */
class SlowProvider extends FakeProvider {
  #answer: { resolve: () => void; reject: (error: Error) => void } | undefined;
  readonly asked: Promise<void>;
  #wasAsked = (): void => {};

  constructor() {
    super("slow", { resources: [WATCHED], capabilities: { resources: {} } });
    this.asked = new Promise((resolve) => (this.#wasAsked = resolve));
  }

  override subscribe(): Promise<void> {
    this.#wasAsked();
    return new Promise((resolve, reject) => (this.#answer = { resolve, reject }));
  }

  agree(): void {
    this.#answer?.resolve();
  }

  refuse(): void {
    this.#answer?.reject(new Error("no"));
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
  const provider = new SlowProvider();
  served = await serve([provider]);
  const next = await listen({ resourceSubscriptions: [WATCHED.uri], toolsListChanged: true });
  await provider.asked;
  provider.emit({ type: "updated", params: { uri: WATCHED.uri } });
  served.endpoint.update(
    served.content([provider.tool("new", () => Promise.reject(new Error("never called")))]),
  );
  provider.agree();
  expect(await next()).toMatchObject({
    method: "notifications/subscriptions/acknowledged",
    params: { notifications: { toolsListChanged: true, resourceSubscriptions: [WATCHED.uri] } },
  });
  provider.emit({ type: "updated", params: { uri: WATCHED.uri } });
  expect(await next()).toMatchObject({ method: "notifications/resources/updated" });
});

it("leaves out of the acknowledgement what a server refused, and what nobody has", async () => {
  const provider = new SlowProvider();
  served = await serve([provider]);
  const next = await listen({
    resourceSubscriptions: [WATCHED.uri, "x://unknown"],
    toolsListChanged: true,
  });
  await provider.asked;
  provider.refuse();
  const acknowledged = await next();
  expect(acknowledged["params"]).toMatchObject({ notifications: { toolsListChanged: true } });
  expect((acknowledged["params"] as Json)["notifications"]).not.toHaveProperty(
    "resourceSubscriptions",
  );
});
