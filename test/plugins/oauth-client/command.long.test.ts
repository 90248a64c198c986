import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { propylon, spawnPropylon } from "../../core/cli/propylon.ts";
import { LoginBrowser } from "../../fixtures/login-provider.ts";
import { setupPersonal, setupRig, textOf } from "./kit.ts";

/** `propylon login` as a process. @returns the link that it prints, and what it said in the end */
async function startLogin(words: readonly string[]) {
  const child = spawnPropylon(["login", ...words]);
  onTestFinished(() => void child.kill());
  let said = "";
  const ended = once(child, "close");
  const link = new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      said += chunk.toString();
      const [found] = /http\S+(?=\s)/.exec(said) ?? [];
      if (found !== undefined) resolve(found);
    };
    child.stdout!.on("data", hear);
    child.stderr!.on("data", hear);
    void ended.then(() => reject(new Error(said)));
  });
  return {
    link: await link,
    end: async () => {
      const [code] = (await ended) as [number];
      return { code, said };
    },
  };
}

it("an operator logs the gateway in, and out again, from a shell", async () => {
  const { url, gateway, becomes } = await setupRig();
  const at = ["guarded", "--target", url];
  const login = await startLogin(at);
  expect((await new LoginBrowser().connect(login.link)).status).toBe(200);
  const { code, said } = await login.end();
  expect([code, said]).toEqual([
    0,
    expect.stringContaining("The gateway is logged in at guarded."),
  ]);
  await becomes("ready");
  const answer = await gateway.call({ server: "guarded", name: "whoami", args: {} });
  expect(textOf(answer)).toBe("ada");
  const out = await propylon(["logout", ...at]);
  expect([out.code, out.stdout]).toEqual([0, "The gateway is logged out at guarded.\n"]);
  await becomes("failed");
  const again = await propylon(["logout", ...at]);
  expect([again.code, again.stdout]).toEqual([0, "The gateway was not logged in at guarded.\n"]);
});

it("a login that its person denies ends the command with a sentence", async () => {
  const { url, provider } = await setupRig();
  const login = await startLogin(["guarded", "--target", url]);
  const browser = new LoginBrowser();
  const asked = new URL(await browser.start(login.link));
  const back = new URL(asked.searchParams.get("redirect_uri")!);
  back.search = new URLSearchParams({
    error: "access_denied",
    state: asked.searchParams.get("state")!,
    iss: provider.url,
  }).toString();
  expect((await browser.fetch(back.href)).status).toBe(400);
  const { code, said } = await login.end();
  expect(code).toBe(2);
  expect(said).toContain("The gateway is not logged in at guarded.");
  expect(said).not.toMatch(/node_modules|\n {4}at /);
});

it("a server without a login, and a person without the role, are told so", async () => {
  const { url } = await setupRig();
  const unknown = await propylon(["login", "nobody", "--target", url]);
  expect([unknown.code, unknown.stdout]).toEqual([1, ""]);
  expect(unknown.stderr).toContain('No server "nobody" wants a login.');
  const guarded = await setupPersonal({ auth: { per: "gateway" } });
  const refused = await propylon(["login", "guarded", "--target", guarded.url]);
  expect([refused.code, refused.stdout]).toEqual([3, ""]);
  expect(refused.stderr).toMatch(/key|401|credential/i);
});
