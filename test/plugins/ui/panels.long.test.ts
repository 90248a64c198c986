import { Panels } from "propylon/panels";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { z } from "zod";
import { definePlugin, type PluginContext } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import events from "../../../plugins/events/index.ts";
import gating from "../../../plugins/gating/index.ts";
import payloads, { Payloads } from "../../../plugins/payloads/index.ts";
import sidecar from "../../../plugins/sidecar/index.ts";
import ui from "../../../plugins/ui/index.ts";
import { deferred } from "../../kit/deferred.ts";
import { makeFolder } from "../../kit/folder.ts";
import { copiedBy, openPage, runCopied } from "./kit.ts";

/** No runtime answers there. */
const NOBODY = "http://127.0.0.1:9";
const READ = { access: "viewer", mutates: false, management: true } as const;
const CHANGE = { access: "operator", mutates: true, management: true } as const;

/** A module of a panel: it draws, asks the gateway with what it was given, and says when it was taken away. */
const MODULE = `export default async (element, { fetch, notify, signal }) => {
  const { cities } = await (await fetch("_meta/weather")).json();
  const button = element.appendChild(document.createElement("button"));
  button.textContent = "Draw " + Object.keys(cities).length;
  button.addEventListener("click", () => notify("drawn"), { signal });
  return () => document.documentElement.setAttribute("data-undone", "yes");
};`;

async function moduleOf(text: string): Promise<URL> {
  const folder = makeFolder();
  const file = join(folder, "panel.js");
  await writeFile(file, text);
  return pathToFileURL(file);
}

type Cities = Record<string, { state: string; degrees: number }>;

const someCities = (): Cities => ({
  Oslo: { state: "ok", degrees: 4 },
  "<b>Rome</b>": { state: "failed", degrees: 31 },
});

/** Routes and a described panel of cities. */
function addWeather(gateway: PluginContext, cities: Cities): void {
  gateway.route("GET", "/_meta/weather", READ, () => ({ ok: true, cities }));
  gateway.route("POST", "/_meta/weather/:city", CHANGE, async (event) => {
    const body = (await event.req.json()) as { degrees: number };
    const sign = event.url.searchParams.has("frost") ? -1 : 1;
    cities[decodeURIComponent(event.context.params!["city"]!)]!.degrees = sign * body.degrees;
    return { ok: true };
  });
  gateway.add(Panels, {
    id: "cities",
    title: "Weather",
    place: "page",
    access: "viewer",
    view: {
      table: {
        from: "GET /_meta/weather",
        rows: "/cities",
        columns: [
          { label: "City", value: "/_key" },
          { label: "State", value: "/state", as: "state" },
          { label: "Degrees", value: "/degrees", as: "number" },
        ],
        actions: [
          {
            label: "Set",
            route: "POST /_meta/weather/:city",
            params: { city: "/_key" },
            input: z.object({ degrees: z.int().min(-90).max(60) }),
            access: "operator",
          },
          {
            label: "Repair",
            route: "POST /_meta/weather/:city",
            params: { city: "/_key" },
            when: { "/state": ["failed"], "/gone": [null] },
            body: { degrees: 20 },
            access: "operator",
          },
          {
            label: "Freeze",
            route: "POST /_meta/weather/:city?frost=1",
            params: { city: "/_key" },
            body: { degrees: 3 },
            access: "operator",
            confirm: "It will be cold.",
          },
        ],
      },
    },
  });
}

it("12: described and module panels of a plugin work, and one that throws breaks nothing else", async () => {
  const cities = someCities();
  const [draws, throws] = [
    await moduleOf(MODULE),
    await moduleOf("export default () => { throw new Error('no map'); };"),
  ];
  const weather = definePlugin({
    name: "weather",
    setup(gateway) {
      addWeather(gateway, cities);
      gateway.add(Panels, {
        id: "map",
        title: "Map",
        place: "overview",
        access: "viewer",
        module: draws,
      });
      gateway.add(Panels, {
        id: "broken",
        title: "Broken",
        place: "overview",
        access: "viewer",
        module: throws,
      });
    },
  });
  const { url } = await setupGateway({
    client: false,
    plugins: [ui, admin, [gating, { state: false }], events, weather],
    config: { management: { mutations: true } },
  });
  const { page, complaints } = await openPage(`${url}/ui/`);
  await page.getByText("no map").waitFor();
  await page.getByRole("button", { name: "Draw 2" }).click();
  await page.getByText("drawn").waitFor();
  await page.getByRole("link", { name: "Weather" }).click();
  await page.locator("html[data-undone=yes]").waitFor();
  const row = page.getByRole("row").filter({ hasText: "<b>Rome</b>" });
  await row.getByText("failed").waitFor();
  // What is offered for some states only is not there for others.
  expect(await page.getByRole("button", { name: "Repair" }).count()).toBe(1);
  await row.getByRole("button", { name: "Repair" }).waitFor();
  await row.getByRole("button", { name: "Set" }).click();
  await page.getByLabel("degrees").fill("18");
  await page.getByRole("dialog").getByRole("button", { name: "Set" }).click();
  await row.getByText("18").waitFor();
  expect(cities["<b>Rome</b>"]!.degrees).toBe(18);
  expect(complaints).toEqual([]);
});

it("12: every action of a described panel is shown as curl, and the copied command does the same", async () => {
  const cities = someCities();
  const weather = definePlugin({
    name: "weather",
    setup: (gateway) => addWeather(gateway, cities),
  });
  const { url } = await setupGateway({
    client: false,
    plugins: [ui, admin, [gating, { state: false }], events, weather],
    config: { management: { mutations: true } },
  });
  const { page, requests, complaints } = await openPage(`${url}/ui/panels/weather/cities`);
  const rome = page.getByRole("row").filter({ hasText: "Rome" });
  const dialog = page.getByRole("dialog");
  const degreesAfter = async (button: Locator): Promise<number> => {
    expect(JSON.parse(await runCopied(await copiedBy(button)))).toEqual({ ok: true });
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    return cities["<b>Rome</b>"]!.degrees;
  };

  // One that asks nothing first.
  await rome.getByRole("button", { name: "As curl" }).waitFor();
  expect(await page.getByRole("button", { name: "As curl" }).count()).toBe(1);
  await rome.getByRole("button", { name: "As curl" }).click();
  expect(await dialog.getByRole("heading", { level: 3 }).allTextContents()).toEqual(["Repair"]);
  expect(await degreesAfter(dialog.getByRole("button", { name: "Copy" }))).toBe(20);
  // One that asks whether it is meant, with a query.
  await rome.getByRole("button", { name: "Freeze" }).click();
  expect(await degreesAfter(dialog.getByRole("button", { name: "Copy as curl" }))).toBe(-3);
  // One that asks for values, with what was filled in.
  await rome.getByRole("button", { name: "Set" }).click();
  await page.getByLabel("degrees").fill("18");
  expect(await degreesAfter(dialog.getByRole("button", { name: "Copy as curl" }))).toBe(18);
  // The page asked for none of them.
  expect(requests.filter((request) => request.startsWith("POST"))).toEqual([]);

  await rome.getByRole("button", { name: "Freeze" }).click();
  await dialog.getByRole("button", { name: "Freeze" }).click();
  await expect.poll(() => cities["<b>Rome</b>"]!.degrees).toBe(-3);
  expect(complaints).toEqual([]);
});

/** Who owns what; a loan, of a form or of a row, says whom it hits. */
function addShelf(gateway: PluginContext, asked: string[], lent: unknown[]): void {
  const owned: Readonly<Record<string, readonly string[]>> = { ada: ["Emma", "<b>Ulysses</b>"] };
  gateway.route("GET", "/_meta/shelf/owners", READ, () => ({
    owners: [{ id: "ada" }, { id: "bob" }],
  }));
  gateway.route("GET", "/_meta/shelf/books", READ, ({ url: { searchParams } }) => ({
    books: owned[searchParams.get("owner")!] ?? [],
  }));
  gateway.route("GET", "/_meta/shelf/hits", READ, ({ url: { search, searchParams } }) => {
    asked.push(search);
    const { books = [] } = JSON.parse(searchParams.get("value") ?? "{}") as { books?: string[] };
    const text = books.length === 0 ? "Nobody misses a book." : "They miss these:";
    return { about: [{ text, names: books }], principals: ["user:ada"] };
  });
  gateway.route("POST", "/_meta/shelf/loans", CHANGE, async ({ req }) => {
    lent.push(await req.json());
    return { ok: true };
  });
  const about = "GET /_meta/shelf/hits";
  const loan = { route: "POST /_meta/shelf/loans", access: "operator", about } as const;
  gateway.add(Panels, {
    id: "lend",
    title: "Lend",
    place: "page",
    access: "operator",
    view: {
      form: {
        ...loan,
        submit: "Lend",
        input: z.strictObject({
          owner: z.string(),
          books: z.array(z.string()).max(9),
          pin: z.string().optional().meta({ format: "password" }),
          note: z.string().optional(),
        }),
        choices: {
          owner: { from: "GET /_meta/shelf/owners", values: "/owners", value: "/id" },
          books: { from: "GET /_meta/shelf/books", values: "/books", with: { owner: "owner" } },
        },
      },
    },
  });
  gateway.add(Panels, {
    id: "owners",
    title: "Owners",
    place: "page",
    access: "operator",
    view: {
      table: {
        from: "GET /_meta/shelf/owners",
        rows: "/owners",
        columns: [{ label: "Owner", value: "/id" }],
        actions: [
          { label: "Borrow", params: { owner: "/id" }, body: { all: true }, ...loan },
          {
            label: "Seize",
            params: { owner: "/id" },
            body: { seized: true },
            confirm: "It is taken from its owner.",
            ...loan,
          },
        ],
      },
    },
  });
}

it("12: a form and an action of a described panel say whom they hit, and a form has the values of routes", async () => {
  const asked: string[] = [];
  const lent: unknown[] = [];
  const shelf = definePlugin({
    name: "shelf",
    setup: (gateway) => addShelf(gateway, asked, lent),
  });
  const { url } = await setupGateway({
    client: false,
    plugins: [ui, admin, [gating, { state: false }], events, shelf],
    config: { management: { mutations: true } },
  });
  const { page, complaints } = await openPage(`${url}/ui/panels/shelf/lend`);
  await page.getByText("Nobody misses a book.").waitFor();
  await page.getByText("No call of theirs runs now.").waitFor();
  // There is nothing to choose until it is known whose it is.
  await page.getByText("There is nothing to choose from.").waitFor();
  await page.getByLabel("owner").selectOption({ label: "ada" });
  await page.getByLabel("<b>Ulysses</b>").check();
  await page.getByLabel("Emma").check();
  await page.getByLabel("pin").fill("a secret pin");
  await page.getByText("They miss these:").waitFor();
  const hits = page.getByRole("status").filter({ hasText: "They miss these:" });
  await hits.getByText("Emma").waitFor();
  expect(await hits.getByRole("listitem").allInnerTexts()).toEqual(["<b>Ulysses</b>", "Emma"]);
  await page.getByRole("button", { name: "Lend", exact: true }).click();
  await expect
    .poll(() => lent)
    .toEqual([{ owner: "ada", books: ["<b>Ulysses</b>", "Emma"], pin: "a secret pin" }]);
  expect(asked.join()).not.toContain("secret");

  await page.goto(`${url}/ui/panels/shelf/owners`);
  await page.getByRole("button", { name: "Borrow" }).last().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Nobody misses a book.").waitFor();
  await dialog.getByRole("button", { name: "Borrow" }).click();
  await expect.poll(() => lent.at(-1)).toEqual({ all: true });
  expect(asked.at(-1)).toBe("?owner=bob");
  expect(complaints).toEqual([]);
});

/** A page of the shelf, and what its routes heard. */
async function openShelf(panel: string) {
  const asked: string[] = [];
  const lent: unknown[] = [];
  const shelf = definePlugin({
    name: "shelf",
    setup: (gateway) => addShelf(gateway, asked, lent),
  });
  const { url } = await setupGateway({
    client: false,
    plugins: [ui, admin, [gating, { state: false }], events, shelf],
    config: { management: { mutations: true } },
  });
  const { page } = await openPage(`${url}/ui/panels/shelf/${panel}`);
  await page.getByText("live", { exact: true }).waitFor();
  return { page, asked, lent };
}

/** A button that does nothing now, even where somebody presses it. */
async function expectOff(button: Locator): Promise<void> {
  expect(await button.getAttribute("aria-disabled")).toBe("true");
  await button.click({ force: true });
}

it("12: nothing is sent until it is said whom it hits, also where that comes late or not at all", async () => {
  const { page, lent } = await openShelf("owners");
  const { promise: isAnswered, resolve: answer } = deferred();
  await page.route("**/_meta/shelf/hits*", async (route) => {
    await isAnswered;
    await route.fulfill({
      status: 500,
      json: { error: { code: "internal", message: "No shelf." } },
    });
  });
  await page.getByRole("button", { name: "Borrow" }).last().click();
  const dialog = page.getByRole("dialog");
  const borrow = dialog.getByRole("button", { name: "Borrow" });
  await dialog.getByText("Asking whom it hits …").waitFor();
  await expectOff(borrow);
  answer();
  await dialog.getByRole("alert").getByText("No shelf.").waitFor();
  await expectOff(borrow);
  // A sentence of the panel is enough to be told.
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Seize" }).last().click();
  await dialog.getByText("It is taken from its owner.").waitFor();
  await dialog.getByRole("alert").getByText("No shelf.").waitFor();
  await dialog.getByRole("button", { name: "Seize" }).click();
  await expect.poll(() => lent).toEqual([{ seized: true }]);

  await page.getByRole("link", { name: "Lend" }).click();
  const lend = page.getByRole("button", { name: "Lend", exact: true });
  const isRefused = page.waitForResponse((response) => /hits.*ada/.test(response.url()));
  await page.getByLabel("owner").selectOption({ label: "ada" });
  await isRefused;
  await page.getByRole("alert").getByText("No shelf.").waitFor();
  await expectOff(lend);
  await page.getByLabel("pin").press("Enter");
  await page.unroute("**/_meta/shelf/hits*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Nobody misses a book.").waitFor();
  expect(lent).toEqual([{ seized: true }]);
  await lend.click();
  await expect.poll(() => lent.length).toBe(2);
});

it("12: whom it hits is asked once for what is typed at once, and not with more than an address takes", async () => {
  const { page, asked, lent } = await openShelf("lend");
  const lend = page.getByRole("button", { name: "Lend", exact: true });
  await page.getByLabel("owner").selectOption({ label: "ada" });
  await expect.poll(() => asked.length).toBe(2);
  await expect.poll(() => lend.getAttribute("aria-disabled")).toBeNull();
  const before = asked.length;
  // All within one task of the browser: another machine would type at another pace.
  await page.getByLabel("note").evaluate((field) => {
    const value = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value")!;
    for (let length = 1; length <= 29; length++) {
      value.set!.call(field, "n".repeat(length));
      (field as never as EventTarget).dispatchEvent(new Event("input", { bubbles: true }));
    }
  });
  await page.getByText("Asking whom it hits …").waitFor();
  await expectOff(lend);
  await expect.poll(() => lend.getAttribute("aria-disabled")).toBeNull();
  const after = asked.slice(before);
  expect(after.length).toBe(1);
  expect(after[0]).toContain("n".repeat(29));
  expect(lent).toEqual([]);

  await page.getByLabel("note").fill("n".repeat(24_000));
  const sentence = "What is filled in is too long to ask whom it hits.";
  await page.getByText(sentence).waitFor();
  await lend.click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(sentence).waitFor();
  expect(asked.length).toBe(before + 1);
  await dialog.getByRole("button", { name: "Lend", exact: true }).click();
  await expect.poll(() => lent.length).toBe(1);
});

it("12: a list of choices that is not there yet, or fails, is not an empty one", async () => {
  const { page } = await openShelf("lend");
  let isBroken = true;
  const { promise: isAnswered, resolve: answer } = deferred();
  await page.route("**/_meta/shelf/books*", async (route) => {
    await isAnswered;
    if (!isBroken) return route.continue();
    return route.fulfill({
      status: 500,
      json: { error: { code: "internal", message: "No list." } },
    });
  });
  const books = page.getByRole("group", { name: "books" });
  await books.getByText("There is nothing to choose from.").waitFor();
  await page.getByLabel("owner").selectOption({ label: "ada" });
  await books.getByText("Loading …").waitFor();
  expect(await books.getByText("There is nothing to choose from.").count()).toBe(0);
  answer();
  await books.getByRole("alert").getByText("No list.").waitFor();
  expect(await books.getByText("There is nothing to choose from.").count()).toBe(0);
  isBroken = false;
  await books.getByRole("button", { name: "Try again" }).click();
  await books.getByLabel("Emma").waitFor();
  expect(await books.getByRole("alert").count()).toBe(0);
});

it("12: tables that are searched on one page have a search each, in its address", async () => {
  const shelf = definePlugin({
    name: "shelf",
    setup(gateway) {
      gateway.route("GET", "/_meta/shelf", READ, () => ({ rows: [{ id: "Emma" }, { id: "Ida" }] }));
      for (const id of ["one", "two"])
        gateway.add(Panels, {
          id,
          title: id,
          place: "overview",
          access: "viewer",
          view: {
            table: {
              from: "GET /_meta/shelf",
              rows: "/rows",
              columns: [{ label: "Book", value: "/id" }],
              search: ["/id"],
            },
          },
        });
    },
  });
  const { url } = await setupGateway({
    client: false,
    plugins: [ui, admin, [gating, { state: false }], events, shelf],
  });
  const { page, complaints } = await openPage(`${url}/ui/`);
  const one = page.getByRole("searchbox", { name: "Search one" });
  const two = page.getByRole("searchbox", { name: "Search two" });
  await one.fill("Emma");
  await two.fill("Ida");
  await page.reload();
  expect([await one.inputValue(), await two.inputValue()]).toEqual(["Emma", "Ida"]);
  const rows = page.locator("tr").filter({ hasText: /Emma|Ida/ });
  await expect.poll(() => rows.allInnerTexts()).toEqual(["Emma", "Ida"]);
  expect(complaints).toEqual([]);
});

it("12: payloads and the task queue are on the overview, and read again where no event tells of them", async () => {
  let put = (_id: string): Promise<unknown> => Promise.reject(new Error());
  const work = definePlugin({
    name: "work",
    inject: { payloads: Payloads },
    setup({ services }) {
      put = (id) => services.payloads.put(id, "the work", { owner: "key:ada" });
    },
  });
  const { url } = await setupGateway({
    client: false,
    plugins: [
      ui,
      admin,
      [gating, { state: false }],
      events,
      payloads,
      [sidecar, { runtime: { url: NOBODY } }],
      work,
    ],
  });
  await put("one");
  const { page, complaints } = await openPage(`${url}/ui/`);
  await page.getByText("live", { exact: true }).waitFor();
  const count = page.locator(".facts > div").filter({ hasText: "Payloads" }).locator("dd");
  await expect.poll(() => count.textContent()).toBe("1");
  await put("<b>two</b>");
  await expect.poll(() => count.textContent()).toBe("2");
  const queue = page.locator(".section").filter({ hasText: "Task queue" });
  expect(await queue.locator("dt").allTextContents()).toEqual([
    "Sidecar",
    "State",
    "Why",
    "Waiting",
    "With a worker",
    "Running here",
  ]);
  await page.getByRole("link", { name: "Payloads" }).click();
  const row = page.getByRole("row").filter({ hasText: "<b>two</b>" });
  await row.getByText("key:ada").waitFor();
  await page.getByRole("link", { name: "Failed tasks" }).click();
  await page.getByText("No delivery has failed.").waitFor();
  expect(complaints).toEqual([]);
});

it("a form says what its secret is, and an action with a form says what it did", async () => {
  const shelf = definePlugin({
    name: "shelf",
    setup(gateway) {
      gateway.route("GET", "/_meta/shelf/readers", READ, () => ({ readers: [{ id: "ada" }] }));
      gateway.route("POST", "/_meta/shelf/cards", CHANGE, async ({ req }) => ({
        ...(await req.json()),
        card: "card-of-a-reader",
      }));
      const card = {
        route: "POST /_meta/shelf/cards",
        input: z.strictObject({ reader: z.string() }),
        secret: "/card",
        secretTitle: "Card of {/reader}",
      } as const;
      const head = { place: "page", access: "operator" } as const;
      gateway.add(Panels, {
        ...head,
        id: "card",
        title: "Card",
        view: { form: { ...card, submit: "Make a card" } },
      });
      const action = { ...card, label: "Renew", tone: "danger", done: "{/reader} has a new card." };
      gateway.add(Panels, {
        ...head,
        id: "readers",
        title: "Readers",
        view: {
          table: {
            from: "GET /_meta/shelf/readers",
            rows: "/readers",
            columns: [{ label: "Reader", value: "/id" }],
            actions: [action as typeof action & { tone: "danger" }],
          },
        },
      });
    },
  });
  const { url } = await setupGateway({
    client: false,
    plugins: [ui, admin, [gating, { state: false }], events, shelf],
    config: { management: { mutations: true } },
  });
  const { page, complaints } = await openPage(`${url}/ui/panels/shelf/card`);
  await page.getByLabel("reader", { exact: true }).fill("ada");
  await page.getByRole("button", { name: "Make a card" }).click();
  await page.getByRole("dialog", { name: "Card of ada" }).waitFor();
  await page.goto(`${url}/ui/panels/shelf/readers`);
  const renew = page.getByRole("button", { name: "Renew" });
  expect(await renew.getAttribute("class")).toBe("danger");
  await renew.click();
  await page.getByLabel("reader", { exact: true }).fill("ada");
  await page.getByRole("dialog").getByRole("button", { name: "Renew" }).click();
  await page.getByText("ada has a new card.").waitFor();
  await page.getByRole("dialog", { name: "Card of ada" }).waitFor();
  expect(complaints).toEqual([]);
});
