/** An error response of an AWS API. Each emulator encodes it in its own protocol. */
export class AwsError extends Error {
  readonly status: number;
  /** The exception's name in the API, e.g. `ResourceNotFoundException`. */
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
