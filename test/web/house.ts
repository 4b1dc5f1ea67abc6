import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Dev, startDev } from "../../local/dev/dev.ts";
import { createCode } from "../../shared/peers/codes.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/models/scripted-model.ts";
import { watchFaults } from "./browser.ts";

/** A local gateway, a scripted model, and a browser with the gateway's page. Each test has a gateway of its own. */
export class PageHouse {
  browser!: Browser;
  dev!: Dev;
  dir = "";
  model!: ModelServer;
  context: BrowserContext | undefined;
  page!: Page;
  /** What went wrong in the page (`watchFaults`); each test ends without. */
  faults: string[] = [];
  answer: (request: ModelRequest) => Reply = () => ({ text: "" });

  /** Starts the gateway, again in the same folder if it has ended. */
  async startGateway(): Promise<void> {
    this.dev = await startDev({ dir: this.dir });
    const provider = { provider: "openai-compatible", id: "m", baseUrl: this.model.url };
    await this.dev.configuration.set("model", provider);
    await this.dev.configuration.set("apiKeys.openai-compatible", "sk-test");
  }

  async newCode() {
    const { id: by } = await this.dev.createAdmin();
    const grant = { scopes: ["client" as const, "approve" as const], by };
    return createCode(this.dev.cloud.world.table, grant, { seconds: 60, hasShort: true }, Date.now());
  }

  /** Opens the page on a device of its own, signed in by a link. @param view its route, such as `inbox` */
  async signIn(view = "chat", size = { width: 360, height: 640 }): Promise<void> {
    this.context = await this.browser.newContext({ viewport: size });
    this.page = await this.context.newPage();
    this.faults = watchFaults(this.page);
    const { code } = await this.newCode();
    await this.page.goto(`${this.dev.cloud.page}/#c=${code}`);
    await this.page.waitForSelector(".dot.connected");
    if (view !== "chat") await this.page.goto(`${this.dev.cloud.page}/#/${view}`);
  }

  async send(text: string): Promise<void> {
    await this.page.fill("textarea", text);
    await this.page.press("textarea", "Enter");
  }

  /** What the page has kept on its device: the keys of its stores. */
  kept(): Promise<string[]> {
    return this.page.evaluate(async () => {
      const answer = <T>(request: IDBRequest<T>) =>
        new Promise<T>((resolve) => {
          request.onsuccess = () => resolve(request.result);
        });
      const database = await answer(indexedDB.open("gsv"));
      const names = [...database.objectStoreNames];
      const keys = names.map((name) => answer(database.transaction(name).objectStore(name).getAllKeys()));
      const kept = (await Promise.all(keys)).map((all, index) => all.map((key) => `${names[index]} ${key}`));
      database.close();
      return kept.flat();
    });
  }

  readonly replies = () => this.page.locator("article.reply:not(.open)").allInnerTexts();
  readonly sent = () => this.page.locator("article.mine .plain").allInnerTexts();
}
