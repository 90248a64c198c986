import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { exportJWK, SignJWT } from "jose";

/** An issuer of signed tokens of the usual length, which serves its keys. */
export async function startTokenIssuer() {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const keys = [{ ...(await exportJWK(publicKey)), kid: "bench", alg: "RS256", use: "sig" }];
  const server = createServer((_req, res) => {
    res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  return {
    jwks: `http://127.0.0.1:${server.address().port}/jwks`,
    close: () => server.close(),
    sign: (claims) =>
      new SignJWT({ scope: "openid profile email", email: "ada@example.com", ...claims })
        .setProtectedHeader({ alg: "RS256", typ: "at+jwt", kid: "bench" })
        .setSubject("7d0f1a5e-1111-4222-8333-444455556666")
        .setIssuedAt()
        .setExpirationTime("2h")
        .setJti(crypto.randomUUID())
        .sign(privateKey),
  };
}
