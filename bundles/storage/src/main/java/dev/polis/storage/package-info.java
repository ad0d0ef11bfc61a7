/**
 * Keeps the state directory of a node, its data volume and what unlocks it.
 *
 * <pre>
 *   StorageConfig ─▶ StorageSettings ─▶ StorageService ◀─ StorageComponent
 *        ┌─────────────────────────────────┤
 *        │                                 ├─ SealedConfigurationFile, EnrolmentJournalFile, RecoveryShareFile
 *        │                                 ├─ RecoveryCheck   what opens the volume after a power-off
 *        │                                 ├─ StorageHealth   conditions for screens and metrics
 *        │                                 ├─ ClockCheck      the clock against the times of the node's files
 *        │                                 └─ AuditVolume     opens the platform's audit log on the volume
 *        └─ VolumeManager        mounts, and publishes whether data/ can be used
 *             ├─ VolumeMaker     makes and discards; nothing else does
 *             ├─ VolumeMarks     whose a volume is, and whether it is finished
 *             └─ VolumeCatalog   which ways there are, and what this machine lacks for each
 *               ├─ VolumePlain        INSECURE                 a directory
 *               ├─ VolumeLuksMapper   both encrypted modes     LUKS2 on dm-crypt (and dm-integrity)
 *               ├─ VolumeLuksFuse     ENCRYPTED                LUKS image, qemu-storage-daemon, loop, XFS
 *               └─ VolumeGocryptfs    AUTHENTICATED_ENCRYPTED  gocryptfs
 * </pre>
 *
 * <p>The kernel's device-mapper is used where there is one; the two ways in user space are for
 * kernels without. A machine that can give neither is refused the mode with the reason; no mode is
 * ever replaced by a weaker one. {@link dev.polis.storage.VolumeMaker} alone makes and discards
 * volumes, so that the guard against formatting a disk that is in use is one page and not four.
 *
 * <p>Keys reach programs through standard input, or, where a program reads only files, through a
 * file on a tmpfs that is wiped when it has been read. They are in no argument list, which every
 * user of a machine can see. Programs are run, not linked: what cryptsetup and mkfs do is audited
 * elsewhere, and a crash of theirs is not ours.
 *
 * <p>Not promised: that a backing file system which runs full under a sparse image is noticed
 * before writes into the volume fail; that someone who puts back an older state of the disk is
 * noticed; that keys are never paged out.
 *
 * <ul>
 *   <li>Needs: BootReport, HandOvers, HealthRegistry, LogTree, ProcessManager, RpcHost, Supervisor
 *   <li>Uses if there: Sealer
 *   <li>Provides: Storage
 *   <li>Configuration: dev.polis.storage
 *   <li>Files: data/audit, data/volume, ephemeral/storage, esp/enrolment_journal.pb,
 *       esp/recovery_share.pb, esp/sealed_configuration.pb, esp/volume_format,
 *       owner/recovery-key.pem, volume.gocryptfs, volume.luks
 *   <li>Ports: none
 * </ul>
 */
package dev.polis.storage;
