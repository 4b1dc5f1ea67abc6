class AbsentClient {
  constructor() {
    throw new Error("Stryker's dashboard and initializer are not supported");
  }
}
exports.HttpClient = AbsentClient;
exports.RestClient = AbsentClient;
