import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { Checks } from "propylon/kit";
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
      gateway.add(Checks, { name: "queue", ask: () => reason });
      gateway.add(Checks, { name: "disk", ask: () => undefined });
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
      gateway.add(Checks, {
        name: "queue",
        ask: () => {
          throw new Error("canary");
        },
      }),
  });
  const { url } = await setupGateway({ plugins: [plugin], client: false });
  const [status, body] = await ask(url);
  expect([status, body.split("\n")[2]]).toEqual([503, "[-] queue: It cannot be asked."]);
});

it("a check that warns is in the description as long as it says so, and holds nothing back", async () => {
  const warning = { message: "The key is a default.", path: ["plugins", "p"], hint: "Set key." };
  let said: typeof warning | undefined = warning;
  const plugin = definePlugin({
    name: "p",
    setup(gateway) {
      gateway.add(Checks, { name: "key", ask: () => said });
      // What a careless plugin in plain JavaScript returns: no promise says that all is well.
      gateway.add(Checks, { name: "later", ask: (async () => undefined) as never });
    },
  });
  const { gateway, url } = await setupGateway({ plugins: [plugin], client: false });
  const told = () => collectWarnings(gateway).filter(({ code }) => code === "plugin");
  expect(told()).toEqual([{ ...warning, code: "plugin" }]);
  const body =
    "[+] config applied\n[+] accepting work\n[-] later: It cannot be asked.\nnot ready\n";
  expect(await ask(url)).toEqual([503, body]);
  said = undefined;
  expect(told()).toEqual([]);
});

it("a check that has the gateway described is not asked by that", async () => {
  let asked = 0;
  const plugin = definePlugin({
    name: "p",
    setup: (gateway) =>
      gateway.add(Checks, {
        name: "servers",
        ask: () => {
          asked++;
          const { name } = gateway.info.describe();
          return { message: `${name} has no servers.`, path: ["servers"], hint: "Add one." };
        },
      }),
  });
  const { gateway } = await setupGateway({ plugins: [plugin], client: false });
  asked = 0;
  const { name } = gateway.describe();
  expect(asked).toBe(0);
  expect(collectWarnings(gateway).map(({ message }) => message)).toEqual([
    `${name} has no servers.`,
  ]);
  expect(asked).toBe(1);
});

it("checks that ask for all warnings do not ask each other without end", async () => {
  let asked = 0;
  const curious = (name: string) => ({
    name,
    ask: () => {
      asked++;
      return void collectWarnings(gateway);
    },
  });
  const plugin = definePlugin({
    name: "p",
    setup(gateway) {
      for (const name of ["a", "b", "c"]) gateway.add(Checks, curious(name));
    },
  });
  const { gateway, url } = await setupGateway({ plugins: [plugin], client: false });
  asked = 0;
  expect(collectWarnings(gateway)).toEqual([]);
  expect(asked).toBe(3);
  expect((await ask(url))[0]).toBe(200);
});
