/**
 * Replaces the organ {@code kubernetes}: answers Kubernetes clients with a message of the
 * operator's own.
 *
 * <pre>
 *   role server ──runs──▶ KubernetesRole ───TlsTask───▶ port 6444 ──▶ StatusHandler: 503, a v1.Status
 * </pre>
 *
 * <p>An organ is replaced by a bundle of the same symbolic name that registers the same services
 * and reads the same configuration. This one takes what the organ of the distribution takes, the
 * port, and one key more, the message.
 *
 * <p>Not promised: Kubernetes.
 *
 * <p>Why not a second plugin of the role beside the first: both would listen at one port.
 */
package org.example.kubernetes;
