import { type Panel, Panels } from "propylon/panels";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createFileGateway, definePlugin, type PluginContext } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";

const TABLE = { from: "GET /_meta/jobs", rows: "/jobs", columns: [{ label: "Id", value: "/id" }] };
const JOBS: Panel = {
  id: "jobs",
  title: "Jobs",
  place: "page",
  access: "viewer",
  view: {
    table: {
      ...(TABLE as { from: "GET /_meta/jobs"; rows: string; columns: [] }),
      actions: [
        {
          label: "Stop",
          route: "POST /_meta/jobs/:id/stop",
          params: { id: "/id" },
          access: "operator",
          when: { "/state": ["running", null] },
          input: z.strictObject({ reason: z.string().max(20) }),
        },
      ],
    },
  },
};

/** A plugin with routes of every kind, and the panels. */
const jobs = (...panels: readonly unknown[]) =>
  definePlugin({
    name: "jobs",
    setup(gateway: PluginContext) {
      const manage = { management: true } as const;
      const look = { ...manage, access: "viewer", mutates: false } as const;
      gateway.route("GET", "/_meta/jobs", look, () => ({ jobs: [] }));
      gateway.route("GET", "/_meta/jobs/:id", { ...look, access: "operator" }, () => ({}));
      gateway.route("POST", "/_meta/jobs/search", look, () => ({}));
      const change = { ...manage, access: "operator", mutates: true } as const;
      gateway.route("POST", "/_meta/jobs/:id/stop", change, () => ({}));
      gateway.route("GET", "/services", { access: "service", mutates: false }, () => ({}));
      for (const panel of panels) gateway.add(Panels, panel as Panel);
    },
  });

const run = (...panels: readonly unknown[]) =>
  setupGateway({ plugins: [jobs(...panels)], client: false });

it("a panel becomes data, its schemas JSON Schema", async () => {
  const { gateway } = await run(JOBS);
  expect(gateway.point(Panels)).toEqual([
    {
      plugin: "jobs",
      id: "jobs",
      title: "Jobs",
      description: null,
      place: "page",
      access: "viewer",
      view: {
        table: {
          ...TABLE,
          actions: [
            {
              label: "Stop",
              route: "POST /_meta/jobs/:id/stop",
              params: { id: "/id" },
              access: "operator",
              when: { "/state": ["running", null] },
              input: {
                type: "object",
                properties: { reason: { type: "string", maxLength: 20 } },
                required: ["reason"],
                additionalProperties: false,
              },
            },
          ],
        },
      },
    },
  ]);
});

it("a gateway without management has no panels, and checks none", async () => {
  const { gateway } = await setupGateway({
    plugins: [jobs(JOBS)],
    config: { management: { enabled: false } },
    client: false,
  });
  expect(gateway.point(Panels)).toEqual([]);
});

const table = (more: object): object => ({ ...JOBS, view: { table: { ...TABLE, ...more } } });
const action = (more: object): object =>
  table({ actions: [{ label: "Stop", route: "POST /_meta/jobs/x/stop", ...more }] });

/** A search that asks for what, of whom. */
const ASKS = {
  route: "POST /_meta/jobs/search",
  mutates: false,
  input: z.object({
    q: z.string(),
    user: z.string().optional(),
    secret: z.string().optional().meta({ hidden: true }),
  }),
};

it.each([
  [
    "no such route",
    table({ from: "GET /_meta/job" }),
    /its data asks GET \/_meta\/job, which is not a route/,
  ],
  [
    "a method that no route has",
    table({ from: "FETCH /_meta/jobs" }),
    /must be a method and a path/,
  ],
  ["more rights than the panel", table({ from: "GET /_meta/jobs/:id" }), /takes the role operator/],
  ["a route for services", table({ from: "GET /services" }), /takes the role service/],
  ["data by POST", table({ from: "POST /_meta/jobs/search" }), /is not a GET/],
  ["data that changes something", table({ from: "POST /_meta/jobs/:id/stop" }), /is not a GET/],
  [
    "a parameter that nobody gives",
    { ...table({ from: "GET /_meta/jobs/:id" }), access: "operator" },
    /whose id is not known/,
  ],
  [
    "an action with more rights",
    action({ route: "POST /_meta/jobs/:id/stop", params: { id: "/id" } }),
    /its action "Stop" asks POST \/_meta\/jobs\/:id\/stop, which takes the role operator/,
  ],
  [
    "an action that says that it changes nothing",
    action({
      route: "POST /_meta/jobs/:id/stop",
      params: { id: "/id" },
      access: "admin",
      mutates: false,
    }),
    /which changes something/,
  ],
  [
    "an action that changes nothing",
    action({ route: "POST /_meta/jobs/search" }),
    /changes nothing/,
  ],
  [
    "an about without such a route",
    action({
      route: "POST /_meta/jobs/:id/stop",
      params: { id: "/id" },
      access: "operator",
      about: "GET /_meta/jobs/:id/hits",
    }),
    /its action "Stop", for about, asks GET \/_meta\/jobs\/:id\/hits, which is not a route/,
  ],
  [
    "an about that changes something",
    action({ route: "POST /_meta/jobs/search", mutates: false, about: "POST /_meta/jobs/search" }),
    /for about, asks POST \/_meta\/jobs\/search, which is not a GET/,
  ],
  [
    "choices with more rights",
    action({
      route: "POST /_meta/jobs/search",
      mutates: false,
      choices: { q: { from: "GET /_meta/jobs/:id", values: "", with: { id: "user" } } },
    }),
    /for the choices of q, asks GET \/_meta\/jobs\/:id, which takes the role operator/,
  ],
  [
    "choices with a parameter that nobody gives",
    action({
      route: "POST /_meta/jobs/search",
      mutates: false,
      access: "operator",
      choices: { q: { from: "GET /_meta/jobs/:id", values: "" } },
    }),
    /for the choices of q, .* whose id is not known/,
  ],
  [
    "choices of a member that its form does not have",
    action({ ...ASKS, choices: { toString: { from: "GET /_meta/jobs", values: "" } } }),
    /its action "Stop" names toString in choices, which its form does not ask for/,
  ],
  [
    "choices of a member that is hidden",
    action({ ...ASKS, choices: { secret: { from: "GET /_meta/jobs", values: "" } } }),
    /names secret in choices/,
  ],
  [
    "choices with a member that its form does not have",
    action({
      ...ASKS,
      choices: { q: { from: "GET /_meta/jobs", values: "", with: { id: "users" } } },
    }),
    /names users in with/,
  ],
  [
    "defaults of a member that its form does not have",
    table({ add: [{ label: "Find", ...ASKS, defaults: { Q: "/q" } }] }),
    /its action "Find" names Q in defaults/,
  ],
  [
    "choices without a form",
    action({ ...ASKS, input: undefined, defaults: { q: "/q" } }),
    /names q in defaults/,
  ],
  [
    "a form with choices that it does not ask for",
    {
      ...JOBS,
      view: {
        form: { ...ASKS, submit: "Go", choices: { Q: { from: "GET /_meta/jobs", values: "" } } },
      },
    },
    /its form names Q in choices/,
  ],
  [
    "a form without such a route",
    {
      ...JOBS,
      view: { form: { route: "POST /nowhere", input: z.object({}), submit: "Go" } },
    },
    /its form asks POST \/nowhere/,
  ],
  [
    "two views",
    { ...JOBS, view: { table: TABLE, metric: { from: "GET /_meta/jobs", value: "" } } },
    /view: must be one of table/,
  ],
  ["neither view nor module", { ...JOBS, view: undefined }, /a view or a module/],
  ["an unknown place", { ...JOBS, place: "footer" }, /place: /],
  ["an id with a path", { ...JOBS, id: "../x" }, /id: must be lower-case/],
  ["no object", "jobs", /Panel "\?" of plugin "jobs"/],
  [
    "an input that is no schema",
    action({ route: "POST /_meta/jobs/search", input: {} }),
    /must be a zod schema/,
  ],
  [
    "a condition that is no pointer",
    action({ route: "POST /_meta/jobs/search", when: { state: ["open"] } }),
    /each key must be a JSON pointer/,
  ],
  [
    "a condition that nothing can meet",
    action({ route: "POST /_meta/jobs/search", when: { "/state": [] } }),
    /when/,
  ],
  [
    "a module that is not there",
    { ...JOBS, view: undefined, module: new URL("./gone.js", import.meta.url) },
    /its module cannot be read/,
  ],
  [
    "a module that is too large",
    { ...JOBS, view: undefined, module: "x".repeat(1_048_577) },
    /larger than 1 MiB/,
  ],
])("refuses %s", async (_, panel, message) => {
  await expect(run(panel)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringMatching(message),
    hint: expect.stringMatching(/\.$/),
  });
});

it("takes choices and defaults of what a form asks for", async () => {
  const choices = { q: { from: "GET /_meta/jobs", values: "", with: { id: "user" } } };
  const { gateway } = await run(action({ ...ASKS, choices, defaults: { user: "/user" } }));
  expect(gateway.point(Panels)).toMatchObject([
    { view: { table: { actions: [{ choices, defaults: { user: "/user" } }] } } },
  ]);
});

it("refuses two panels of one name", async () => {
  await expect(run(JOBS, JOBS)).rejects.toMatchObject({ code: "exists" });
});

it("takes the same shape of a path, a query, and a form that only asks", async () => {
  const { gateway } = await run(
    table({ from: "GET /_meta/jobs?limit=5" }),
    {
      ...JOBS,
      id: "search",
      view: {
        form: {
          route: "POST /_meta/jobs/search",
          mutates: false,
          input: z.object({ q: z.string() }),
          submit: "Search",
        },
      },
    },
    {
      ...JOBS,
      id: "one",
      place: "servers/detail",
      access: "admin",
      view: { fields: { from: "GET /_meta/jobs/:server", fields: [{ label: "All", value: "" }] } },
    },
  );
  expect(gateway.point(Panels).map(({ id }) => id)).toEqual(["jobs", "search", "one"]);
});

it("a plugin file in a folder without node_modules adds a panel", async () => {
  const folder = makeFolder();
  const text = `import { definePlugin } from "propylon";
import { Panels } from "propylon/panels";
export default definePlugin({
  name: "shelf",
  setup(gateway) {
    const look = { access: "viewer", mutates: false, management: true } as const;
    gateway.route("GET", "/_meta/shelf", look, () => ({ rows: [] }));
    const table = { from: "GET /_meta/shelf", rows: "/rows", columns: [{ label: "Id", value: "/id" }] } as const;
    gateway.add(Panels, { id: "shelf", title: "Shelf", place: "page", access: "viewer", view: { table } });
  },
});
`;
  await writeFile(join(folder, "shelf.ts"), text);
  const file = join(folder, "gateway.yaml");
  await writeFile(file, "listeners: { main: { port: 0 } }\nplugins:\n  ./shelf.ts: {}\n");
  const gateway = await createFileGateway(file);
  onTestFinished(() => gateway.close({ grace: 0 }));
  expect(gateway.point(Panels)).toMatchObject([{ plugin: "shelf", id: "shelf" }]);
});
