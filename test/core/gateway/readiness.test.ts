import { expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

const ask = async (url: string, path = "/readyz?verbose"): Promise<[number, string]> => {
  const response = await fetch(`${url}${path}`);
  return [response.status, await response.text()];
};

it("is held back by a plugin's condition, which is asked each time, and leaves liveness alone", async () => {
  let reason: string | undefined = "The queue is away.";
  const plugin = definePlugin({
    name: "p",
    setup(gateway) {
      gateway.readiness("queue", () => reason);
      gateway.readiness("disk", () => undefined);
    },
  });
  const { gateway, url } = await setupGateway({ plugins: [plugin], client: false });
  expect(await ask(url)).toEqual([
    503,
    "[+] config applied\n[+] accepting work\n[-] queue: The queue is away.\n[+] disk\nnot ready\n",
  ]);
  expect(await ask(url, "/readyz")).toEqual([503, "not ready\n"]);
  expect(await ask(url, "/livez")).toEqual([200, "ok\n"]);
  reason = undefined;
  expect(await ask(url, "/readyz")).toEqual([200, "ok\n"]);
  reason = "Away again.";
  // What left the config holds nothing back.
  await gateway.apply({ listeners: { main: { port: 0 } } });
  expect(await ask(url)).toEqual([200, "[+] config applied\n[+] accepting work\nok\n"]);
});

it("is not given by a condition that throws, and what it threw is told nobody", async () => {
  const plugin = definePlugin({
    name: "p",
    setup: (gateway) =>
      gateway.readiness("queue", () => {
        throw new Error("canary");
      }),
  });
  const { url } = await setupGateway({ plugins: [plugin], client: false });
  const [status, body] = await ask(url);
  expect([status, body.split("\n")[2]]).toEqual([503, "[-] queue: It cannot be asked."]);
});
