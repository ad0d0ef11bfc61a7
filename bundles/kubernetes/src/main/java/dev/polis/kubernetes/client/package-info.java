/**
 * Speaks to the API server of Kubernetes.
 *
 * <pre>
 *   reconciler, label maker, worker ──KubeClient──▶ HTTPS, JSON ──▶ API server
 *                                        │
 *                                        ├─ find, list, create, apply, patch, delete
 *                                        └─ watch: one object per line, until the server ends it
 * </pre>
 *
 * <p>An object is a tree of JSON, addressed by its path ({@code /api/v1/nodes/NAME}). A refusal is
 * a {@link dev.polis.kubernetes.client.KubeException} with the server's code, reason and message.
 *
 * <p>Each answer, with its body, has a deadline; the client reads lists page by page; the server
 * ends a watch after five minutes, and the client leaves a silent server a minute later.
 *
 * <p>Not promised: caches. The server may end a watch at any time; its owner lists again.
 *
 * <p>Why not a client library of Kubernetes: a Java library would add an HTTP client, a model of a
 * thousand classes and a dozen bundles, for the ten requests of a node.
 */
package dev.polis.kubernetes.client;
