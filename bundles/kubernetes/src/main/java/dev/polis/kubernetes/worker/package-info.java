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
 * <p><b>What waits for what.</b> Kubelet and service proxy are not started before an API server is
 * ready: they would fail, and try again after growing pauses.
 *
 * <p><b>Programs outlive code.</b> What a program is started with is the same in each run of the
 * node's process, so the next run adopts it. Certificates rotate in files that the programs read
 * again by themselves: the kubelet its server certificate at once, all clients theirs within five
 * minutes. The load balancer is code: while it is replaced, connections to the API server end and
 * are made again; Pods and Services do not need it.
 *
 * <p><b>What is where.</b> The node's folders on the data volume: {@code kubernetes-worker} (keys,
 * certificates, configuration), {@code kubelet} (what it knows of Pods; a short name, since sockets
 * lie in it), {@code kubernetes-volumes}. When the role is taken away, keys and volumes stay: the
 * curator has bound the certificates to the keys, and volumes hold people's data.
 *
 * <p><b>Who may do what.</b> The kubelet's identity may change and delete this node's Node object
 * and evict its Pods, and those of no other node (admission plugin NodeRestriction). Service proxy
 * and DNS may read Services; the provisioner may make and delete volumes, and read events.
 *
 * <p>The DNS server has an account, with the one right to listen at port 53. The service proxy
 * changes the kernel's tables and the kubelet mounts and starts anything, so these are root.
 *
 * <p><b>What a Pod may take.</b> A Pod has 1,024 processes, all Pods half of the machine's process
 * ids; system calls are filtered unless the Pod says otherwise. When 512 MiB are left of the
 * volume, the kubelet evicts the Pods that have written most.
 *
 * <p><b>Pods that do not start.</b> Those that the node hinders (image, network plugin, runtime,
 * volume) are named with a remedy after half a minute. What a Pod is to blame for itself, and a Pod
 * that waits for a node, is left to its owner. Pods that have run before are not looked at.
 *
 * <p><b>Volumes.</b> The storage class says what becomes of a volume without its claim. A claim for
 * what a directory of one node cannot be (a copy, a block device, a volume for several nodes) gets
 * an event that says so, and no volume.
 *
 * <p><b>Not promised.</b> A quota of volumes: each says so in the annotation {@code
 * polis.dev/quota}; an image of a given size limits all of them together. NetworkPolicies: nothing
 * enforces them. A Pod without a controller when the role is taken away: it is evicted and nothing
 * starts it again.
 *
 * <p><b>Why DNS is a process and not a Pod:</b> it needs no image and no scheduler, and names are
 * resolved on the node that asks, also while the API server is away. Why a load balancer of our own
 * and not the API server's address in each kubeconfig: controllers come and go, and a program of
 * Kubernetes knows one address only.
 */
package dev.polis.kubernetes.worker;
