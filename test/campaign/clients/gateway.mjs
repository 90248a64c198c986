import { freePort, startGateway as start } from "../gateway.mjs";

export const KEY = "a-key-of-the-campaign";

/** A gateway with one server, and with an agent behind A2A where there is a model. It finds its sessions again after a restart. */
export async function startGateway({ servers, model }) {
  const a2aPort = await freePort();
  const team = model && {
    agents: { tester: { model: "openai/scripted", servers: ["demo"] } },
    plugins: {
      agents: {
        providers: { openai: { type: "openai-compatible", baseUrl: model.url, apiKey: "none" } },
      },
      a2a: {
        listener: { port: a2aPort },
        skills: [{ id: "tester", description: "Uses tools.", agent: "tester" }],
      },
    },
  };
  const config = { auth: { apiKey: KEY }, store: "sqlite:gateway.db", servers, ...team };
  const gateway = await start(config, { key: KEY });
  return Object.assign(gateway, {
    card: `http://127.0.0.1:${a2aPort}/.well-known/agent-card.json`,
  });
}
