/**
 * Runs Kubernetes' node on this node: the role KubernetesWorker.
 *
 * <pre>
 *   WorkerService (one run for each address of the node), in the order of start; the end is the reverse
 *      balancer       HOST:6445 ─▶ all API servers in turn                │ the way of all below
 *   worker, once the node is a member of its cluster
 *      certificates   keys made here ─▶ curator ─▶ files 0600            │ renewed in time
 *      controllers    curator's watch of nodes ─▶ where the API servers are; remembered in a file
 *      runtime        Containers.start(sandbox)                           │ stopped with the role
 *      coredns, kube-proxy                     child processes in the sandbox, adopted
 *      node-watch     the Node object ─▶ health of the role
 *      pod-health     Pods of this node that cannot start, and events ─▶ health of the role
 *      volumes        claims of Pods on this node ─▶ directories ─▶ PersistentVolumes
 *      node-object    deletes the Node object when the role is taken away
 *      kubelet                                 child process in the sandbox, adopted
 *      pod-network    spec.podCIDR ─▶ CNI configuration, route of this machine
 *      drain          evicts Pods when the role is taken away, 14 s at most
 * </pre>
 *
 * <p><b>Order.</b> The role starts kubelet and service proxy only after an API server is ready:
 * they would fail, and try again after growing pauses.
 *
 * <p><b>Programs outlive code.</b> The command line of a program is the same in each run of the
 * node's process, so the next run adopts it. Certificates rotate in files that the programs read
 * again by themselves: the kubelet its server certificate at once, all clients theirs within five
 * minutes. The load balancer is code: during its replacement, connections to the API server end and
 * clients connect again; Pods and Services do not need it.
 *
 * <p><b>Folders</b> on the data volume: {@code kubernetes-worker} (keys, certificates,
 * configuration), {@code kubelet} (its state of Pods; a short name, because it contains sockets),
 * {@code kubernetes-volumes}. When the role is taken away, keys and volumes stay: the curator has
 * bound the certificates to the keys, and volumes hold people's data.
 *
 * <p><b>Rights.</b> The kubelet's identity may change and delete this node's Node object and evict
 * its Pods, and those of no other node (admission plugin NodeRestriction). Service proxy and DNS
 * may read Services; the provisioner may make and delete volumes, and read events.
 *
 * <p>The DNS server has an account, with the one right to listen at port 53. The service proxy
 * changes the kernel's tables, and the kubelet mounts file systems and starts any program, so both
 * run as root.
 *
 * <p><b>Limits of Pods.</b> A Pod has at most 1,024 processes, all Pods half of the machine's
 * process ids; the runtime filters system calls unless the Pod turns that off. When 512 MiB are
 * left of the volume, the kubelet evicts the Pods that have written most.
 *
 * <p><b>Pods that do not start.</b> After half a minute health names the Pods that cannot start
 * because of the node (image, network plugin, runtime, volume), with a remedy. It leaves a Pod's
 * own faults, and a Pod that waits for a node, to the owner of the Pod. It does not check Pods that
 * have run before.
 *
 * <p><b>Volumes.</b> The storage class decides about a volume without its claim. A claim that a
 * directory of one node cannot fulfil (a copy, a block device, a volume for several nodes) gets an
 * event with the reason, and no volume.
 *
 * <p><b>Not promised.</b> A quota of volumes: the annotation {@code polis.dev/quota} of each names
 * that; an image of a given size limits all of them together. NetworkPolicies: the node does not
 * enforce them. A Pod without a controller when the cluster takes the role away: the node evicts it
 * and no controller starts it again.
 *
 * <p><b>Why DNS is a process and not a Pod:</b> it needs no image and no scheduler, and each node
 * resolves its own names, also while the API server is away.
 */
package dev.polis.kubernetes.worker;
