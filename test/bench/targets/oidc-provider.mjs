/**
 * What plugins/oauth does, on oidc-provider: an authorization server whose people log in at another OpenID provider. For
 * choices/issuer.mjs. The config is `{ port, provider, client, redirect, resource }`.
 */
import "./memory.mjs";
import { createServer } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import * as oauth from "oauth4webapi";
import { Provider } from "oidc-provider";

const config = JSON.parse(process.argv[2]);
const issuer = `http://127.0.0.1:${config.port}`;
const callback = `${issuer}/callback`;
const insecure = { [oauth.allowInsecureRequests]: true };
const self = { client_id: config.provider.clientId };
const secret = oauth.ClientSecretPost(config.provider.clientSecret);

// glue
const { privateKey } = await generateKeyPair("EdDSA", { extractable: true });
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: config.client,
      client_name: "Bench",
      redirect_uris: [config.redirect],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
    },
  ],
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "EdDSA", use: "sig" }] },
  cookies: { keys: ["not a secret of anybody"] },
  scopes: ["mcp:call"],
  enabledJWA: { idTokenSigningAlgValues: ["EdDSA"] },
  clientDefaults: { id_token_signed_response_alg: "EdDSA" },
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  ttl: {
    AccessToken: 3_600,
    RefreshToken: 2_592_000,
    Grant: 2_592_000,
    Interaction: 600,
    Session: 600,
  },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo(_context, resource) {
        if (resource !== config.resource) throw new Error("not a resource of this gateway");
        return {
          scope: "mcp:call",
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: 3_600,
          jwt: { sign: { alg: "EdDSA" } },
        };
      },
    },
  },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
});
const handle = provider.callback();
const server = await oauth.processDiscoveryResponse(
  new URL(config.provider.issuer),
  await oauth.discoveryRequest(new URL(config.provider.issuer), insecure),
);

/** Logins at the other provider, by their state; ours are in a sealed cookie. */
const logins = new Map();

async function toProvider(uid, res) {
  const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
  const verifier = oauth.generateRandomCodeVerifier();
  logins.set(state, { uid, nonce, verifier });
  const url = new URL(server.authorization_endpoint);
  url.search = String(
    new URLSearchParams({
      ...self,
      response_type: "code",
      redirect_uri: callback,
      scope: "openid profile email",
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    }),
  );
  res.writeHead(302, { location: url.href }).end();
}

/** The cookie of the interaction is for its path, so the browser goes there with what the provider said. */
function fromProvider(url, res) {
  const { uid } = logins.get(url.searchParams.get("state"));
  res.writeHead(302, { location: `/interaction/${uid}/login${url.search}` }).end();
}

async function finishLogin(url, req, res) {
  const state = url.searchParams.get("state");
  const { nonce, verifier } = logins.get(state);
  logins.delete(state);
  const answer = oauth.validateAuthResponse(server, self, url, state);
  const response = await oauth.authorizationCodeGrantRequest(server, self, secret, answer, callback, verifier, insecure); // prettier-ignore
  const tokens = await oauth.processAuthorizationCodeResponse(server, self, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  await oauth.validateApplicationLevelSignature(server, response, insecure);
  const accountId = oauth.getValidatedIdTokenClaims(tokens).sub;
  await provider.interactionFinished(req, res, { login: { accountId } });
}

async function consent(req, res) {
  const { params, session } = await provider.interactionDetails(req, res);
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  grant.addResourceScope(params.resource, params.scope);
  const result = { consent: { grantId: await grant.save() } };
  await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: true });
}

async function interact(url, req, res) {
  if (url.pathname === "/callback") return fromProvider(url, res);
  if (url.pathname.endsWith("/login")) return finishLogin(url, req, res);
  if (req.method === "POST") return consent(req, res);
  const { prompt, uid } = await provider.interactionDetails(req, res);
  if (prompt.name === "login") return toProvider(uid, res);
  const page = `<!doctype html><title>Allow?</title><form method="post" action="${issuer}/interaction/${uid}"><input type="hidden" name="login" value="${uid}"><button name="choice" value="allow">Allow</button></form>`;
  res.writeHead(200, { "content-type": "text/html" }).end(page);
}
// end of glue

provider.on("server_error", (_context, error) => console.error(error));
createServer((req, res) => {
  const url = new URL(req.url, issuer);
  if (url.pathname !== "/callback" && !url.pathname.startsWith("/interaction/"))
    return void handle(req, res);
  interact(url, req, res).catch((error) => {
    console.error(error);
    res.writeHead(500).end();
  });
}).listen(config.port, "127.0.0.1", () => process.send({ port: config.port }));
