import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { freePort, Process } from "../process.mjs";
import { range } from "./turns.mjs";

const REDIRECT = "http://127.0.0.1:9/callback";
const CLIENT = "bench";
const SECRET = "the secret of the gateway at the provider";
const ROUNDS = 7;
const LOGINS = 40;
const REFRESHES = 300;
/** Logins whose refresh tokens are held when memory is read. */
const HELD = 2_000;

/** CPU of a login and of a refresh at our authorization server and at one on oidc-provider, and what both hold in memory. */
export async function issuer() {
  const people = await startProvider();
  const started = [];
  try {
    const provider = { issuer: people.url, clientId: "gateway", clientSecret: SECRET };
    const targets = {
      ours: await startOurs(provider),
      "oidc-provider": await startTheirs(provider),
    };
    started.push(...Object.values(targets).map(({ process }) => process));
    return [...(await measureCpu(targets)), ...(await measureMemory(targets))];
  } finally {
    await Promise.all(started.map((each) => each.stop()));
    people.close();
  }
}

async function startOurs(provider) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const config = {
    listeners: { main: { port } },
    log: { level: "warn" },
    auth: { maxFailures: 0 },
    plugins: {
      "oauth-resource": { scopes: { "mcp:call": "caller" } },
      oauth: {
        provider,
        roles: { caller: "everyone" },
        clients: { [CLIENT]: { name: "Bench", redirects: [REDIRECT] } },
      },
    },
  };
  const process = await Process.start("targets/gateway.mjs", { config, core: 0 });
  return { process, authorize: `${url}/oauth/authorize`, token: `${url}/oauth/token`, resource: `${url}/mcp` }; // prettier-ignore
}

async function startTheirs(provider) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const resource = `${url}/mcp`;
  const config = { port, provider, client: CLIENT, redirect: REDIRECT, resource };
  const process = await Process.start("targets/oidc-provider.mjs", { config, core: 0 });
  return { process, authorize: `${url}/auth`, token: `${url}/token`, resource };
}

async function measureCpu(targets) {
  const names = Object.keys(targets);
  const costs = { login: {}, refresh: {} };
  for (let round = -1; round < ROUNDS; round++)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const target = targets[name];
      const login = await cpuOf(target, LOGINS, () => logIn(target));
      let { refresh_token } = await logIn(target);
      const refresh = await cpuOf(target, REFRESHES, async () => {
        ({ refresh_token } = await askToken(target, {
          grant_type: "refresh_token",
          refresh_token,
        }));
      });
      // The first round is for the compiler.
      if (round < 0) continue;
      (costs.login[name] ??= []).push(login);
      (costs.refresh[name] ??= []).push(refresh);
    }
  return Object.entries(costs).flatMap(([what, byName]) =>
    names.map((name) => {
      const ratios = byName[name].map((cost, at) => cost / byName.ours[at]);
      return `${what}, ${name}: ${median(byName[name]).toFixed(0)} us of CPU, ${range(ratios)} times ours`;
    }),
  );
}

async function measureMemory(targets) {
  const lines = [];
  for (const [name, target] of Object.entries(targets)) {
    const before = await target.process.ask({ memory: true });
    for (let count = 0; count < HELD; count++) await logIn(target);
    const after = await target.process.ask({ memory: true });
    const kilobytes = (after.heap - before.heap) / 1_024 / HELD;
    lines.push(
      `memory, ${name}: ${(before.heap / 1e6).toFixed(1)} MB of heap, ${(before.rss / 1e6).toFixed(0)} MB resident, ${kilobytes.toFixed(1)} KB for each of ${HELD} logins`,
    );
  }
  return lines;
}

/** Microseconds of CPU of each. */
async function cpuOf({ process }, count, run) {
  const before = process.cpu();
  for (let done = 0; done < count; done++) await run();
  return (process.cpu() - before) / count;
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

/** Does what a program and a browser do: authorize, log in at the provider, allow, and get tokens for the code. */
async function logIn(target) {
  const verifier = randomBytes(32).toString("base64url");
  const url = new URL(target.authorize);
  url.search = String(
    new URLSearchParams({
      client_id: CLIENT,
      redirect_uri: REDIRECT,
      response_type: "code",
      scope: "mcp:call",
      resource: target.resource,
      state: "state",
      // oidc-provider remembers what a person allowed by its session; ours would by the consent.
      prompt: "consent",
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    }),
  );
  const code = (await browse(url)).searchParams.get("code");
  return askToken(target, { grant_type: "authorization_code", code, redirect_uri: REDIRECT, code_verifier: verifier }); // prettier-ignore
}

/** Follows redirects and sends the form of the page of consent, up to the address of the program. */
async function browse(start) {
  const jar = new Map();
  let [url, init] = [start, {}];
  for (let hops = 0; hops < 20; hops++) {
    const response = await request(url, init, jar);
    const location = response.headers.get("location");
    if (location?.startsWith(REDIRECT)) return new URL(location);
    const text = await response.text();
    if (location !== null) [url, init] = [new URL(location, url), {}];
    else [url, init] = formOf(text, url);
  }
  throw new Error("The redirects do not end.");
}

function formOf(text, url) {
  const [, action] = /<form[^>]* action="([^"]*)"/.exec(text) ?? [];
  if (action === undefined) throw new Error(`no form: ${text}`);
  const body = new URLSearchParams({ choice: "allow" });
  for (const [, name, value] of text.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g))
    body.set(name, value);
  return [new URL(action, url), { method: "POST", body, headers: { origin: new URL(action, url).origin } }]; // prettier-ignore
}

async function request(url, init, jar) {
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  const response = await fetch(url, { ...init, headers: { ...init.headers, cookie }, redirect: "manual" }); // prettier-ignore
  for (const line of response.headers.getSetCookie()) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
    jar.set(name, value);
  }
  return response;
}

async function askToken({ token, resource }, form) {
  const body = new URLSearchParams({ client_id: CLIENT, resource, ...form });
  const response = await fetch(token, { method: "POST", body });
  const answer = await response.json();
  if (!answer.access_token || !answer.refresh_token)
    throw new Error(`${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

/** An OpenID provider that lets everybody in as somebody else, without a page. It is in this process: what it costs counts for nobody. */
async function startProvider() {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const jwk = { ...(await exportJWK(publicKey)), kid: "1", alg: "ES256", use: "sig" };
  const nonces = new Map();
  let people = 0;
  const answer = async (req, res) => {
    const url = new URL(req.url, issuerUrl);
    const send = (value) => res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value)); // prettier-ignore
    if (url.pathname === "/.well-known/openid-configuration") return send(metadata);
    if (url.pathname === "/jwks") return send({ keys: [jwk] });
    if (url.pathname === "/auth") {
      const code = randomBytes(16).toString("hex");
      nonces.set(code, url.searchParams.get("nonce"));
      const target = new URL(url.searchParams.get("redirect_uri"));
      target.search = String(new URLSearchParams({ code, state: url.searchParams.get("state"), iss: issuerUrl })); // prettier-ignore
      return res.writeHead(302, { location: target.href }).end();
    }
    let body = "";
    for await (const chunk of req) body += chunk;
    const code = new URLSearchParams(body).get("code");
    const claims = { nonce: nonces.get(code), name: "Somebody" };
    nonces.delete(code);
    const id_token = await new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", kid: "1" })
      .setIssuer(issuerUrl)
      .setSubject(`person-${people++}`)
      .setAudience("gateway")
      .setIssuedAt()
      .setExpirationTime("5m")
      .sign(privateKey);
    return send({ access_token: "x", token_type: "Bearer", expires_in: 300, id_token });
  };
  const server = createServer((req, res) => void answer(req, res));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuerUrl = `http://127.0.0.1:${server.address().port}`;
  const metadata = {
    issuer: issuerUrl,
    authorization_endpoint: `${issuerUrl}/auth`,
    token_endpoint: `${issuerUrl}/token`,
    jwks_uri: `${issuerUrl}/jwks`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
  };
  return {
    url: issuerUrl,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
