import { stopWords } from "../recall/words/stop-words.ts";

const words = (text: string) => text.split(" ");

/** Terms that come before all other words, in the languages that our people write: lower case, without accents. */
export const techTerms: ReadonlySet<string> = new Set([
  ...words(
    "api aws backup bug build cache certificate cloud cluster compiler container cron dashboard database deploy",
  ),
  ...words(
    "deployment dns docker email endpoint firewall git github gitlab javascript kubernetes lambda latency linux",
  ),
  ...words(
    "login migration model network nginx node openai password pipeline postgres postgresql production protocol",
  ),
  ...words(
    "python query queue redis release repository restore rollback router rust schedule schema script security",
  ),
  ...words(
    "server sqlite ssh staging storage telegram test token typescript update upgrade vpn webhook whatsapp wifi",
  ),
  ...words(
    "anthropic bedrock claude gemini llama ollama slack discord terraform webpack windows macos android",
  ),
  ...words(
    "respaldo migracion despliegue servidor contrasena seguridad actualizacion consulta red copia base",
  ),
  ...words(
    "sauvegarde serveur reseau securite datensicherung sicherung datenbank netzwerk sicherheit anmeldung",
  ),
]);

/** The same, of scripts that put no space between words. */
export const unspacedTerms: readonly string[] = words(
  "备份 数据库 服务器 部署 迁移 密码 安全 网络 バックアップ データベース サーバー 백업 서버 สำรองข้อมูล",
);

/** Words that say nothing of what a memory is about: besides the usual ones those of talk, of time and of paths. */
export const noTags: ReadonlySet<string> = new Set([
  ...stopWords,
  ...words(
    "always never often sometimes today tomorrow yesterday now then soon later user users human person people",
  ),
  ...words(
    "thing things something anything everything nothing like likes liked want wants wanted need needs use uses used",
  ),
  ...words(
    "said says say tell told know knows known make makes made one two three new old good well also please thanks",
  ),
  ...words(
    "siempre nunca hoy manana ayer ahora luego pronto usuario persona gente cosa cosas gusta quiere necesita usa",
  ),
  ...words("dice dijo sabe hace hizo nuevo viejo bueno bien gracias favor"),
  ...words(
    "src lib dist bin tmp var usr etc opt home node_modules index main mod html css json yaml yml toml http https www",
  ),
  ...words("com org net file files folder path"),
]);
