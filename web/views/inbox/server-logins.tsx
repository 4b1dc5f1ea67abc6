import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { McpServerEntry } from "../../../shared/protocol/mcp.ts";
import { showHidden } from "../../chat/shown-text.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAction } from "../../parts/use-action.ts";
import type { ConsoleState } from "../../state/console-state.ts";

/** How often the page asks whether the user has logged in, ms. */
const askMs = 3_000;

/** MCP servers at which nobody has logged in yet, or whose login is over. */
export function ServerLogins({ state }: { state: ConsoleState }) {
  return (
    <>
      {state.waiting.servers.value.map((server) => (
        <ServerLogin key={server.name} server={server} state={state} />
      ))}
    </>
  );
}

interface Login {
  address: string;
  until: number;
}

function ServerLogin({ server: { name, url }, state }: { server: McpServerEntry; state: ConsoleState }) {
  const { isBusy, fault, act } = useAction();
  const login = useSignal<Login | undefined>(undefined);
  useEffect(() => {
    if (!login.value) return;
    const { until } = login.value;
    const ask = async () => {
      const { status } = await state.connection.request("mcp.login.finish", { name });
      if (status === "done") await state.waiting.read();
      else if (Date.now() >= until) throw new Error("The time for the login is over. Authorize again.");
    };
    const timer = setInterval(() => {
      ask().catch((error: Error) => {
        login.value = undefined;
        fault.value = error.message;
      });
    }, askMs);
    return () => clearInterval(timer);
  }, [login.value]);
  // The address opens by a click of its own: a browser blocks a window that opens after an answer.
  const begin = () =>
    act(async () => {
      const { address, until } = await state.connection.request("mcp.login", { name });
      if (!/^https?:$/.test(new URL(address).protocol))
        throw new Error("The server gave an address that is not a web address.");
      login.value = { address, until };
    });
  return (
    <section class="card item" aria-label={`The MCP server ${showHidden(name)}`}>
      <h2>The MCP server {showHidden(name)} needs a login</h2>
      <p class="small" dir="ltr">
        {showHidden(url)}
      </p>
      <Fault text={fault.value} />
      <div class="buttons">
        {login.value ? (
          <a class="button" href={login.value.address} target="_blank" rel="noopener noreferrer">
            Log in at {new URL(login.value.address).host}
          </a>
        ) : (
          <button type="button" class="primary" disabled={isBusy.value} onClick={begin}>
            Authorize
          </button>
        )}
      </div>
    </section>
  );
}
