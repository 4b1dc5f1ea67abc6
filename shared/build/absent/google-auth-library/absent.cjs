exports.GoogleAuth = class GoogleAuth {
  constructor() {
    throw new Error("Vertex AI is not supported; give the provider google an API key");
  }
};
