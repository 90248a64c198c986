import { definePlugin } from "propylon";
import { Management, Audit, perGeneration, setTicker } from "propylon/kit";
import { SignInLinks, StandIns } from "propylon/internal";
import { makeLink } from "./link.ts";
import { optionsSchema } from "./options.ts";
import { openSession, registerRoutes } from "./routes.ts";
import { type NewSession, Sessions, type SessionsService } from "./service.ts";
import { findStandIn } from "./session-credential.ts";
import { BrowserSessions, SESSION_OVER, sessionOf } from "./sessions.ts";

export * from "./service.ts";

/** How often sessions are looked for that nobody uses any more. */
const SWEEP_MS = 30_000;

/** Sessions of browsers: a key is sent once, and a cookie stands for it on the routes of web interfaces. */
export default definePlugin({
  name: "sessions",
  config: optionsSchema,
  inject: { audit: Audit, management: Management },
  provides: Sessions,
  setup(gateway) {
    const { info, config, services } = gateway;
    const sessions = gateway.keep(
      "sessions",
      () => new BrowserSessions(),
      (kept) => void kept.end(() => true),
    );
    sessions.onEnd = ({ id }) =>
      void services.management.evict((principal) => sessionOf(principal) === id, SESSION_OVER);
    const publicUrl = perGeneration(
      gateway,
      () => (info.effectiveConfig() as { readonly publicUrl?: string }).publicUrl,
    );
    const isOpen = perGeneration(gateway, () => info.describe().authenticators.length === 0);
    const parts = { sessions, publicUrl, isOpen };
    gateway.add(StandIns, (credentials, route) => findStandIn(parts, config, credentials, route));
    registerRoutes(gateway, parts);
    const createCode = (): string => sessions.createCode();
    gateway.add(SignInLinks, () => makeLink(info, createCode, publicUrl()));
    gateway.onStart(() => {
      const timer = setTicker(() => sessions.sweep(config.idleTimeout), SWEEP_MS).unref();
      return () => clearInterval(timer);
    });
    const service: SessionsService = {
      open(request: Request, session: NewSession) {
        const opened = openSession(gateway, parts, request, session);
        return {
          cookie: opened.cookie,
          expiresAt: new Date(opened.session.expiresAt).toISOString(),
        };
      },
      createCode,
      end: (match) => sessions.end(({ principal }) => match(principal)),
    };
    return service;
  },
});
