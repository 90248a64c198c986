import { expect, it } from "vitest";
import { setupGateway, testPlugin } from "../../core/testing/index.ts";
import echo from "../../playground/plugins/echo.ts";

testPlugin(echo, { config: { greeting: "hi" }, changed: { greeting: "good day" } });

it("greets with the configured word, and refuses arguments without a name", async () => {
  const { client } = await setupGateway({ plugins: [[echo, { greeting: "hi" }]] });
  expect(await client.callTool({ name: "greet", arguments: { name: "Ada" } })).toMatchObject({
    content: [{ type: "text", text: "hi, Ada" }],
  });
  expect(await client.callTool({ name: "greet", arguments: {} })).toMatchObject({ isError: true });
});

it("counts calls in its middleware and shows the count on its route", async () => {
  const { client, url } = await setupGateway({ plugins: [echo] });
  const shown = async (): Promise<unknown> => (await fetch(`${url}/echo`)).json();
  expect(await shown()).toEqual({ greeting: "hello", calls: 0 });
  await client.callTool({ name: "greet", arguments: { name: "Ada" } });
  await client.callTool({ name: "greet", arguments: { name: "Grace" } });
  expect(await shown()).toEqual({ greeting: "hello", calls: 2 });
});
