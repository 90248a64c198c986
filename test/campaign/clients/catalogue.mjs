/** What is tried, with the versions; one row of the matrix each. A new version is tried by changing it here. */

const python = (id, label, requirements, program = id) => ({
  id,
  label,
  language: "python",
  requirements,
  program: `python/${program}.py`,
});
const node = (id, label) => ({ id, label, language: "node", program: `node/${id}.mjs` });

/** Programs that use the gateway as a client does. */
export const CLIENTS = [
  node("typescript-1", "TypeScript SDK 1.32"),
  node("typescript-2", "TypeScript SDK 2.4"),
  python("python-1", "Python SDK 1.30", ["mcp==1.30.0"], "sdk1"),
  python("python-2", "Python SDK 2.3", ["mcp==2.3.0"], "sdk2"),
  { id: "go", label: "Go SDK 1.8", language: "go" },
  { id: "rust", label: "Rust SDK (rmcp) 3.9", language: "rust" },
  { id: "java", label: "Java SDK 2.1", language: "java" },
  python("openai_agents", "openai-agents 0.24", ["openai-agents==0.24.0"]),
  python(
    "pydantic_ai",
    "pydantic-ai 2.68",
    ["pydantic-ai-slim[mcp,openai]==2.68.0"],
    "pydantic_agent",
  ),
  python(
    "langgraph",
    "langgraph 1.2 (langchain-mcp-adapters 0.3)",
    ["langgraph==1.2.22", "langchain-mcp-adapters==0.3.2", "langchain", "langchain-openai"],
    "langgraph_agent",
  ),
  python("google_adk", "google-adk 2.13 (MCP)", ["google-adk[a2a,mcp]==2.13.0", "litellm"]),
  python("google_adk_a2a", "google-adk 2.13 (A2A)", ["google-adk[a2a,mcp]==2.13.0", "litellm"]),
  python(
    "llama_index",
    "llama-index 0.6 (tools-mcp)",
    ["llama-index-tools-mcp==0.6.0", "llama-index-llms-openai-like", "llama-index-core"],
    "llama",
  ),
  python("crewai", "crewai 1.15", ["crewai==1.15.30", "crewai-tools[mcp]==1.15.30"], "crew"),
  python(
    "autogen",
    "autogen 0.7",
    ["autogen-ext[mcp,openai]==0.7.5", "autogen-agentchat==0.7.5", "mcp<2"],
    "autogen_agent",
  ),
  python("semantic_kernel", "semantic-kernel 1.45", ["semantic-kernel[mcp]==1.45.0"], "kernel"),
  python("smolagents", "smolagents 1.26", ["smolagents[mcp,openai]==1.26.0", "mcp[ws]<2"], "smol"),
  python(
    "fast_agent",
    "fast-agent 0.2 (the newest for Python 3.11)",
    ["fast-agent-mcp==0.2.36", "pydantic<2.12", "a2a-sdk<0.3"],
    "fast",
  ),
  node("ai-sdk", "ai SDK 7 (@ai-sdk/mcp 2)"),
  node("mastra", "mastra 1.71 (@mastra/mcp 2)"),
];

/** Servers behind the gateway, each over stdio and, where its SDK offers it, over HTTP without sessions. */
export const SERVERS = [
  {
    id: "typescript-1",
    label: "TypeScript SDK 1.32",
    language: "node",
    program: "node/server-1.mjs",
  },
  {
    id: "typescript-2",
    label: "TypeScript SDK 2.4",
    language: "node",
    program: "node/server-2.mjs",
  },
  {
    id: "python-1",
    label: "Python SDK 1.30",
    language: "python",
    requirements: ["mcp==1.30.0"],
    program: "python/server1.py",
  },
  {
    id: "python-2",
    label: "Python SDK 2.3",
    language: "python",
    requirements: ["mcp==2.3.0"],
    program: "python/server2.py",
  },
  { id: "go", label: "Go SDK 1.8", language: "go" },
  { id: "rust", label: "Rust SDK (rmcp) 3.9", language: "rust" },
  { id: "java", label: "Java SDK 2.1", language: "java" },
];

/** Columns of both tables. */
export const CELLS = ["connect", "list", "call", "error", "progress", "question", "restart", "key"];

/** How each server is tried: over which transport, and by a client of which era. */
export const SERVED = ["stdio", "http"].flatMap((transport) =>
  ["typescript-1", "typescript-2"].map((client) => [transport, client]),
);

/** What a row of the clients is called. */
export const clientRow = ({ label }) => label;

/** What a row of the servers is called. */
export const serverRow = ({ label }, transport, client) =>
  `${label}, ${transport}, client ${CLIENTS.find(({ id }) => id === client).label}`;
