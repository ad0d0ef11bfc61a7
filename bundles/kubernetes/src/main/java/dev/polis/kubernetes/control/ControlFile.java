package dev.polis.kubernetes.control;

/** Names the files that the control plane's programs read. */
enum ControlFile {
  CA("ca.pem"),
  AGGREGATION_CA("aggregation-ca.pem"),
  API_SERVER("apiserver.pem"),
  API_SERVER_KUBELET_CLIENT("apiserver-kubelet-client.pem"),
  FRONT_PROXY_CLIENT("front-proxy-client.pem"),
  ETCD_CA("etcd-ca.pem"),
  ETCD_CLIENT("etcd-client.pem"),
  SERVICE_ACCOUNT("service-account.pem"),
  SERVICE_ACCOUNT_PUBLIC("service-account-public.pem"),
  ENCRYPTION("encryption.json"),
  AUTHENTICATION("authentication.json"),
  ADMISSION("admission.json"),
  AUDIT_POLICY("audit-policy.json"),
  CONTROLLER_MANAGER("controller-manager.pem"),
  CONTROLLER_MANAGER_CLIENT("controller-manager-client.pem"),
  CONTROLLER_MANAGER_CONFIG("controller-manager.kubeconfig"),
  SCHEDULER("scheduler.pem"),
  SCHEDULER_CLIENT("scheduler-client.pem"),
  SCHEDULER_CONFIG("scheduler.kubeconfig");

  private final String fileName;

  ControlFile(String fileName) {
    this.fileName = fileName;
  }

  /** Returns its name in the folder. */
  String fileName() {
    return fileName;
  }
}
