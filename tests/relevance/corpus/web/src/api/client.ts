/** Talks to the server: JSON, one error class, and another try when the network fails. */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export interface RequestOptions {
  method?: "GET" | "POST" | "DELETE";
  body?: unknown;
  attempts?: number;
}

/** Fetch and decode JSON; throws ApiError for any status that is not 2xx. */
export async function fetchJson<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const { method = "GET", body, attempts = 3 } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      const response = await fetch(path, { method, headers: authHeaders(), body: body ? JSON.stringify(body) : undefined });
      const data = await response.json();
      if (!response.ok) throw new ApiError(response.status, data.code, data.error);
      return data as T;
    } catch (error) {
      if (error instanceof ApiError || attempt >= attempts) throw error;
      await sleep(200 * 2 ** attempt);
    }
  }
}

function authHeaders(): Record<string, string> {
  const token = sessionStorage.getItem("ferry.token");
  return token ? { Authorization: `Bearer ${token}` } : {};
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
