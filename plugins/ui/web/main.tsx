import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Router } from "wouter";
import { PAGES_PATH } from "./kit/address.ts";
import { App } from "./app.tsx";
import { RequestFailure, setUnauthorized } from "./request.ts";
import "./styles.css";
import { applyTheme } from "./theme.ts";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      // What the gateway refused it refuses again; the stream says when something changed.
      retry: (count, error) =>
        count < 2 && error instanceof RequestFailure && (error.status === 0 || error.status >= 502),
      refetchOnWindowFocus: true,
    },
  },
});
// A session that ended: who the visitor is is asked again, and the answer brings the sign-in page.
setUnauthorized(() => void client.invalidateQueries({ queryKey: ["GET /_meta/ui"] }));
// Its relative address would be another one on another page.
for (const icon of document.querySelectorAll<HTMLLinkElement>("link[rel=icon]"))
  icon.setAttribute("href", icon.href);
applyTheme();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <Router base={PAGES_PATH}>
        <App />
      </Router>
    </QueryClientProvider>
  </StrictMode>,
);
