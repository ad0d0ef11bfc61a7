package dev.polis.kubernetes.control;

import com.google.gson.JsonPrimitive;
import dev.polis.api.kubernetes.KubernetesNames;
import java.net.URI;

/**
 * Makes the configuration files of the control plane's programs, as JSON, which is YAML. The same
 * values always make the same text.
 */
final class ControlConfigs {

  private static final String KUBECONFIG =
      """
      {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "polis", "cluster": {
          "server": %s, "certificate-authority": %s, "tls-server-name": %s}}],
        "users": [{"name": "polis", "user": {"client-certificate": %s, "client-key": %4$s}}],
        "contexts": [{"name": "polis", "context": {"cluster": "polis", "user": "polis"}}],
        "current-context": "polis"
      }
      """;

  private static final String ENCRYPTION =
      """
      {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{
          "resources": ["secrets"],
          "providers": [
            {"secretbox": {"keys": [{"name": "key1", "secret": %s}]}},
            {"identity": {}}
          ]
        }]
      }
      """;

  /**
   * The configuration of authentication: a client without a certificate and a token learns only the
   * health of the server, and not its API.
   */
  private static final String AUTHENTICATION =
      """
      {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "anonymous": {"enabled": true, "conditions": [
          {"path": "/livez"}, {"path": "/readyz"}, {"path": "/healthz"}]}
      }
      """;

  /**
   * The configuration of admission: a namespace without labels accepts only Pods that cannot take
   * over the node. These use no namespaces, folders or ports of the host, and have no privileges.
   * Only operators use the namespace of the system.
   */
  private static final String ADMISSION =
      """
      {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "PodSecurity", "configuration": {
          "apiVersion": "pod-security.admission.config.k8s.io/v1",
          "kind": "PodSecurityConfiguration",
          "defaults": {
            "enforce": "baseline", "enforce-version": "latest",
            "audit": "baseline", "audit-version": "latest",
            "warn": "baseline", "warn-version": "latest"},
          "exemptions": {"namespaces": ["kube-system"]}}}]
      }
      """;

  private ControlConfigs() {}

  /** Returns the configuration of the paths for anonymous clients. */
  static String authentication() {
    return AUTHENTICATION;
  }

  /** Returns the configuration of the Pods that a namespace accepts. */
  static String admission() {
    return ADMISSION;
  }

  /**
   * Returns a kubeconfig with file names, so that the program reads changed files again.
   *
   * @param server the API server
   * @param ca the file of its authority
   * @param identity the file with the client's key and certificate
   */
  static String kubeconfig(URI server, String ca, String identity) {
    return KUBECONFIG.formatted(
        quoted(server.toString()),
        quoted(ca),
        quoted(KubernetesNames.SERVER_NAME),
        quoted(identity));
  }

  /**
   * Returns the configuration for the encryption of secrets in etcd; the API server can still read
   * older secrets in plain text.
   *
   * @param key 32 bytes in base64
   */
  static String encryption(String key) {
    return ENCRYPTION.formatted(quoted(key));
  }

  private static String quoted(String text) {
    return new JsonPrimitive(text).toString();
  }
}
