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
 * a {@link dev.polis.kubernetes.client.KubeException} with the server's code, reason and words.
 *
 * <p>Each answer has a deadline, its body included; lists are read page by page; a watch is ended
 * by the server after five minutes, and left a minute later if the server is silent.
 *
 * <p>Not promised: caches. A watch ends whenever the server likes; its owner lists again.
 *
 * <p>Why not a client library of Kubernetes: those for Java bring an HTTP client, a model of a
 * thousand classes and a dozen bundles, for the ten requests that a node makes.
 */
package dev.polis.kubernetes.client;
