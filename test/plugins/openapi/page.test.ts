import { createContext, runInContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { PAGE } from "../../../plugins/openapi/page.ts";
import { createSlow, startOpenapi } from "./support.ts";

/** As much of an element as the page's script uses. */
class FakeElement {
  readonly children: FakeElement[] = [];
  readonly listeners = new Map<string, (event: object) => void>();
  textContent = "";
  value = "";
  readonly tag: string;

  constructor(tag: string) {
    this.tag = tag;
  }

  append(child: FakeElement): void {
    this.children.push(child);
  }

  replaceChildren(): void {
    this.children.length = 0;
  }

  setAttribute(): void {}

  addEventListener(name: string, listener: (event: object) => void): void {
    this.listeners.set(name, listener);
  }

  submit(): void {
    this.listeners.get("submit")!({ preventDefault() {} });
  }

  /** Every element of a tag below this one. */
  find(tag: string): FakeElement[] {
    return this.children.flatMap((child) => [
      ...(child.tag === tag ? [child] : []),
      ...child.find(tag),
    ]);
  }
}

/** Runs the script of the page as if a browser had opened it. */
function open(href: string) {
  const ids = new Map(
    [...PAGE.text.matchAll(/ id="(\w+)"/g)].map(([, id]) => [id!, new FakeElement(id!)]),
  );
  const document = {
    createElement: (tag: string) => new FakeElement(tag),
    getElementById: (id: string) => ids.get(id),
  };
  const script = /<script>([\s\S]*)<\/script>/.exec(PAGE.text)![1]!;
  const globals = { document, location: { href }, fetch, URL, performance };
  runInContext(script, createContext(globals));
  return (id: string) => ids.get(id)!;
}

describe("the page's script", () => {
  it.each([
    ["/slow/docs", "POST /strict"],
    ["/docs", "POST /slow/strict"],
  ])("%s lists the operations and calls them", async (path, summary) => {
    const { url } = await startOpenapi({}, [createSlow().plugin]);
    const element = open(`${url}${path}`);
    await expect.poll(() => element("status").textContent).toBe("3 operations");
    const operation = element("operations").children.find((child) =>
      child.children[0]!.textContent.startsWith(summary),
    )!;
    const [form] = operation.find("form");
    const [body] = operation.find("textarea");
    expect(JSON.parse(body!.value)).toEqual({ amount: 0 });
    body!.value = '{"amount": 21}';
    form!.submit();
    const output = operation.children.at(-1)!;
    await expect.poll(() => output.textContent).toMatch(/^200 in \d+ ms\n/);
    expect(output.textContent).toContain('"result": 42');
    operation.find("input")[0]!.value = "0";
    form!.submit();
    await expect.poll(() => output.textContent).toMatch(/^422 /);
  });

  it("asks for the key where one is needed, and uses it", async () => {
    const config = { auth: { apiKey: "k".repeat(20) } };
    const { url } = await startOpenapi({}, [createSlow().plugin], config);
    const element = open(`${url}/docs`);
    await expect.poll(() => element("status").textContent).toContain("Enter a key");
    element("key").value = config.auth.apiKey;
    element("access").submit();
    await expect.poll(() => element("status").textContent).toBe("3 operations");
  });
});
