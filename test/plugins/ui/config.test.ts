import { expect, it } from "vitest";
import { FULL, openPage, startGateway } from "./kit.ts";

it("M020: each value of the config says where it comes from, without secrets", async () => {
  const { url } = await startGateway(
    `${FULL}servers: { shop: { url: "http://127.0.0.1:9/mcp", headers: { X-Key: s3cretWord } } }\n`,
  );
  const { page, complaints } = await openPage(`${url}/ui/config`);
  const row = (name: string) => page.getByRole("row").filter({ hasText: name });
  await row("management.mutations").getByText("gateway.yaml:2:").waitFor();
  await row("management.enabled").getByText("default", { exact: true }).waitFor();
  await row("servers.shop.headers.X-Key").getByText("gateway.yaml:").waitFor();
  expect(await page.content()).not.toContain("s3cretWord");
  // Why nothing can be edited here, and what would allow it.
  await page.getByText("plugins.admin.allowConfigEdits: true").waitFor();

  await page.getByLabel("Origin").selectOption("file");
  await row("management.enabled").waitFor({ state: "detached" });
  await page.getByLabel("Search values").fill("MUTATIONS");
  await expect.poll(() => row("servers.shop").count()).toBe(0);
  expect(await row("management.mutations").count()).toBe(1);
  // The filters stand in the address.
  await page.reload();
  await row("management.mutations").waitFor();
  expect(await row("servers.shop").count()).toBe(0);
  expect(complaints).toEqual([]);
});
