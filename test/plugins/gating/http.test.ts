import { expect, it } from "vitest";
import openapi from "propylon/plugins/openapi";
import { until } from "../../kit/until.ts";
import { serveEverything, setupGating, whenListed } from "./kit.ts";

it("M018, M049, M050, M151: over HTTP what is off answers 403 in the envelope on every route, before any byte reaches its server", async () => {
  const upstream = await serveEverything();
  const { gateway, service, url } = await setupGating(
    {},
    { servers: { house: { url: upstream.url } } },
    [openapi],
  );
  await whenListed(gateway, "house");
  const post = async (path: string, body: object = {}) => {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as object };
  };
  const ways = (tool: string) => [
    () => post(`/house/${tool}`),
    () => post(`/_house/${tool}`),
    () => post("/house/invoke", { tool, arguments: {} }),
  ];
  for (const way of ways("alpha"))
    expect(await way()).toMatchObject({ status: 200, body: { ok: true } });
  await service.set([{ server: "house", tool: "alpha", enabled: false }], "x");
  const before = upstream.requests.length;
  const refusal = (data: object) => ({
    status: 403,
    body: { ok: false, error: { code: "disabled", data } },
  });
  for (const way of ways("alpha"))
    expect(await way()).toMatchObject(refusal({ server: "house", tool: "alpha" }));
  expect(upstream.requests.length).toBe(before);
  for (const way of ways("beta")) expect(await way()).toMatchObject({ status: 200 });
  await service.set([{ server: "house", enabled: false }], "x");
  const later = upstream.requests.length;
  for (const way of ways("beta")) expect(await way()).toMatchObject(refusal({ server: "house" }));
  expect(upstream.requests.length).toBe(later);
});

it("M007, M035, M036, M100: a header or a query asks for a time, which is clamped and said", async () => {
  const upstream = await serveEverything();
  const { gateway, url } = await setupGating(
    { timeouts: { max: 10 } },
    { servers: { house: { url: upstream.url } } },
    [openapi],
  );
  await whenListed(gateway, "house");
  const effective = async (query: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/house/alpha${query}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: "{}",
    });
    await response.text();
    return [response.status, response.headers.get("x-tool-timeout-effective")];
  };
  expect(await effective("?timeout=5")).toEqual([200, null]);
  expect(await effective("?timeout=50")).toEqual([200, "10"]);
  expect(await effective("", { "x-tool-timeout": "11" })).toEqual([200, "10"]);
  expect(await effective("", { "x-tool-timeout": "0" })).toEqual([422, null]);
});

it("what is off is in no document of the HTTP face", async () => {
  const upstream = await serveEverything();
  const { gateway, service, url } = await setupGating(
    {},
    { servers: { house: { url: upstream.url } } },
    [openapi],
  );
  await whenListed(gateway, "house");
  const paths = async () => {
    const { paths: found } = (await (await fetch(`${url}/house/openapi.json`)).json()) as {
      paths: object;
    };
    return Object.keys(found).join();
  };
  await until(async () => (await paths()).includes("alpha"));
  await service.set([{ server: "house", tool: "alpha", enabled: false }], "x");
  await until(async () => !(await paths()).includes("alpha"));
  expect(await paths()).toContain("beta");
});
