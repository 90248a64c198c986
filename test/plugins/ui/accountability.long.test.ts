import { expect, it } from "vitest";
import { expectList, expectRows, useAll } from "./controls.ts";
import { ALL_PAGES, startShop } from "./pages.ts";

/** `npm run campaign -- controls` walks over all pages, a run of every commit over every third one. */
const ALL = process.env["UI_CONTROLS"] === "all" || process.env["UPDATE_DOCS"] !== undefined;

it(
  "M002, M003, M020, M029, M044, M054, M140, M150, 1: every control of every page makes its request, leads somewhere or changes the view",
  { timeout: 400_000 },
  async () => {
    const { url } = await startShop();
    const { entries } = (await (await fetch(`${url}/_meta/history`)).json()) as {
      entries: { id: string }[];
    };
    // Every value of the config has the same controls.
    const pages = ALL_PAGES.map((path) => (path === "/config" ? "/config?q=mutations" : path));
    // Dialogs are opened by an address of their own.
    const views = [...pages, "/servers?add=1", `/activity?call=${entries[0]!.id}`];
    const walked = views.filter((_view, at) => ALL || at % 3 === 0);
    const controls = await useAll({ url, views: walked, whole: "/" });
    expect(controls.length).toBeGreaterThanOrEqual(ALL ? 60 : 30);
    const expectAll = ALL ? expectList : expectRows;
    expectAll("plugins/ui/ACCOUNTABILITY.md", controls.map(withoutId));
  },
);

/** The call has another id in every run. */
function withoutId<T extends { readonly page: string }>(control: T): T {
  return { ...control, page: control.page.replace(/call=.*/, "call=") };
}
