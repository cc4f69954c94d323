{{- define "devgate.daemonset" -}}
{{- $on := .Values.overlays | default dict }}
{{- $oci := .Values.oci | default dict }}
{{- $agent := or $on.dra $on.events $on.nodeCondition }}
{{- $takesOver := ne .Values.updateStrategy.takeOver "never" }}
{{- if and $oci.credentialsSecret (not $on.oci) }}
{{- fail "oci.credentialsSecret: without overlays.oci there is no way to a registry; set overlays.oci=true" }}
{{- end }}
{{- if and $oci.caConfigMap (not $on.oci) }}
{{- fail "oci.caConfigMap: without overlays.oci there is no way to a registry; set overlays.oci=true" }}
{{- end }}
{{- $port := regexFind ":[0-9]+" (.Values.registry | default "") | trimPrefix ":" | default "443" }}
{{- if and $on.oci .Values.registry (not (has $port (toStrings ($oci.ports | default list)))) }}
{{- fail (printf "registry: its port %s is not among oci.ports, and components are pulled from there" $port) }}
{{- end }}
{{- range .Values.env }}
{{- if and (eq .name "DOCKER_CONFIG") $oci.credentialsSecret }}
{{- fail "env: DOCKER_CONFIG is set by oci.credentialsSecret; take one of them" }}
{{- end }}
{{- if and (eq .name "SSL_CERT_FILE") $oci.caConfigMap }}
{{- fail "env: SSL_CERT_FILE is set by oci.caConfigMap; take one of them" }}
{{- end }}
{{- end }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ include "devgate.workload" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "devgate.labels" . | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "devgate.selector" . | nindent 6 }}
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      {{- if $takesOver }}
      # The new pod starts beside the old one, which ends its streams when the new one is about to register, and not after.
      maxSurge: {{ .Values.updateStrategy.maxSurge }}
      maxUnavailable: 0
      {{- else }}
      # The old pod ends before the new one begins: kubelets up to 1.36 take down the registration of the new one when the old
      # one's stream ends after it.
      maxSurge: 0
      # A part, rounded up, and not one: a node that is not ready counts as well, and would hold up all others (docs/install.md).
      maxUnavailable: {{ .Values.updateStrategy.maxUnavailable }}
      {{- end }}
  # A rollout goes on when a node's devices have been there for a while.
  minReadySeconds: 10
  template:
    metadata:
      labels:
        {{- include "devgate.selector" . | nindent 8 }}
        {{- with .Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        kubectl.kubernetes.io/default-container: devgate
        {{- with .Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ if $agent }}{{ include "devgate.agent" . }}{{ else }}{{ include "devgate.name" . }}{{ end }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.priorityClassName }}
      # Without it, pods that ask for devices wait for a node that is out of memory to let devgate in.
      priorityClassName: {{ . | quote }}
      {{- end }}
      {{- if $on.oci }}
      # The node's own name servers, so that a node that boots does not wait for those of the cluster.
      dnsPolicy: Default
      {{- end }}
      # Allocations that are under way are finished.
      terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      # Nodes with devices are often tainted for those who need them, and pods on nodes in trouble have devices, too.
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        # The kubelet's directory is root's, mode 0750.
        runAsUser: 0
        runAsGroup: 0
        seccompProfile:
          type: RuntimeDefault
        {{- with include "devgate.selinux" . }}
        seLinuxOptions:
          {{- . | trim | nindent 10 }}
        {{- end }}
      containers:
        - name: devgate
          image: {{ include "devgate.image" . | quote }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          args:
            - run
            - --policy=/etc/devgate/policy.d
            - --components=/components
            - {{ printf "--listen=%s:9464" .Values.listenAddress | quote }}
            {{- if $takesOver }}
            - --take-over={{ .Values.updateStrategy.takeOver }}
            {{- end }}
            {{- if $on.cdiEdits }}
            - --edits=cdi
            {{- end }}
            {{- if $on.dra }}
            - {{ printf "--plugins-registry-dir=%s/plugins_registry" (include "devgate.kubelet" .) | quote }}
            {{- end }}
            {{- if or $on.events $on.nodeCondition }}
            - --tell-agent
            {{- end }}
            {{- range .Values.extraArgs }}
            - {{ . | quote }}
            {{- end }}
          {{- if or .Values.env $oci.credentialsSecret $oci.caConfigMap }}
          env:
            {{- if $oci.credentialsSecret }}
            - {name: DOCKER_CONFIG, value: /etc/devgate/registry}
            {{- end }}
            {{- if $oci.caConfigMap }}
            - {name: SSL_CERT_FILE, value: /etc/devgate/registry-ca/ca.crt}
            {{- end }}
            {{- with .Values.env }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- end }}
          ports:
            - name: metrics
              containerPort: 9464
              protocol: TCP
          securityContext:
            privileged: false
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
              {{- if $on.kernelLog }}
              add: [SYSLOG]
              {{- end }}
          # The default, /dev/termination-log, would be made in the node's /dev.
          terminationMessagePath: /termination-log
          terminationMessagePolicy: FallbackToLogsOnError
          startupProbe:
            httpGet: {path: /healthz, port: metrics}
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: {path: /healthz, port: metrics}
            periodSeconds: 20
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            httpGet: {path: /readyz, port: metrics}
            periodSeconds: 5
            timeoutSeconds: 5
          {{- with .Values.resources }}
          # Measured figures are in docs/operate.md. No limit on the processor: one that is throttled misses the deadlines that
          # the kubelet's calls have.
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          volumeMounts:
            - name: device-plugins
              mountPath: /var/lib/kubelet/device-plugins
            - name: pod-resources
              mountPath: /var/lib/kubelet/pod-resources
              readOnly: true
            - name: dev
              mountPath: /dev
              readOnly: true
              {{- if $on.recent }}
              recursiveReadOnly: IfPossible
              {{- end }}
            - name: state
              mountPath: /var/lib/devgate
            - name: components
              mountPath: /components
              readOnly: true
            # The same again, over the place where it lies in the state directory, which is writable.
            - name: components
              mountPath: /var/lib/devgate/components.d
              readOnly: true
            - name: policy
              mountPath: /etc/devgate/policy.d
              readOnly: true
            - name: run
              mountPath: /run/devgate
            {{- if or $on.nics $on.control }}
            - name: sys-devices
              mountPath: /sys/devices
              readOnly: {{ not $on.control }}
            {{- end }}
            {{- if $on.nics }}
            - name: sys-class
              mountPath: /sys/class
              readOnly: true
            - name: sys-bus
              mountPath: /sys/bus
              readOnly: true
            {{- end }}
            {{- if or $on.cdi $on.cdiEdits $on.dra }}
            - name: cdi
              mountPath: /var/run/cdi
              readOnly: {{ not (or $on.cdiEdits $on.dra) }}
            {{- end }}
            {{- if $on.dra }}
            # Where it is for the kubelet, which is told a path.
            - name: plugins-registry
              mountPath: {{ printf "%s/plugins_registry" (include "devgate.kubelet" .) | quote }}
            {{- end }}
            {{- if $agent }}
            - name: agent
              mountPath: /run/devgate-agent
            {{- end }}
            {{- if $on.nfd }}
            - name: nfd
              mountPath: /etc/kubernetes/node-feature-discovery/features.d
            {{- end }}
            {{- if $on.deviceInfo }}
            - name: device-info
              mountPath: /var/run/k8s.cni.cncf.io/devinfo/dp
            {{- end }}
            {{- if $oci.credentialsSecret }}
            - name: registry
              mountPath: /etc/devgate/registry
              readOnly: true
            {{- end }}
            {{- if $oci.caConfigMap }}
            - name: registry-ca
              mountPath: /etc/devgate/registry-ca
              readOnly: true
            {{- end }}
            {{- with .Values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
        {{- if $agent }}
        # It has a token and nothing of the node; devgate has the devices and no token.
        - name: agent
          image: {{ include "devgate.image" . | quote }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          command: [/devgate-agent]
          args:
            - --socket=/run/devgate-agent/agent.sock
            {{- if $on.dra }}
            - --slices
            {{- end }}
            {{- if $on.events }}
            - --events
            {{- end }}
            {{- if $on.nodeCondition }}
            - --node-condition
            {{- end }}
          env:
            - name: NODE_NAME
              valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
          securityContext:
            privileged: false
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            runAsNonRoot: true
            runAsUser: 65532
            runAsGroup: 65532
            capabilities:
              drop: [ALL]
          terminationMessagePolicy: FallbackToLogsOnError
          resources:
            requests: {cpu: 10m, memory: 32Mi}
            limits: {memory: 256Mi}
          volumeMounts:
            - name: agent
              mountPath: /run/devgate-agent
            - name: token
              mountPath: /var/run/secrets/kubernetes.io/serviceaccount
              readOnly: true
        {{- end }}
      volumes:
        - name: device-plugins
          hostPath: {path: /var/lib/kubelet/device-plugins, type: Directory}
        - name: pod-resources
          hostPath: {path: {{ printf "%s/pod-resources" (include "devgate.kubelet" .) | quote }}, type: Directory}
        - name: dev
          hostPath: {path: /dev, type: Directory}
        - name: state
          hostPath: {path: /var/lib/devgate, type: DirectoryOrCreate}
        - name: components
          {{- if eq .Values.components.source "image" }}
          image:
            {{- toYaml .Values.components.image | nindent 12 }}
          {{- else if eq .Values.components.source "configMap" }}
          configMap: {name: {{ .Values.components.configMap | quote }}}
          {{- else }}
          hostPath: {path: {{ .Values.components.hostPath | quote }}, type: DirectoryOrCreate}
          {{- end }}
        - name: policy
          configMap: {name: {{ include "devgate.policy" . | quote }}}
        - name: run
          emptyDir: {sizeLimit: 1Mi}
        {{- if or $on.nics $on.control }}
        - name: sys-devices
          hostPath: {path: /sys/devices, type: Directory}
        {{- end }}
        {{- if $on.nics }}
        - name: sys-class
          hostPath: {path: /sys/class, type: Directory}
        - name: sys-bus
          hostPath: {path: /sys/bus, type: Directory}
        {{- end }}
        {{- if or $on.cdi $on.cdiEdits $on.dra }}
        - name: cdi
          hostPath: {path: /var/run/cdi, type: DirectoryOrCreate}
        {{- end }}
        {{- if $on.dra }}
        - name: plugins-registry
          hostPath: {path: {{ printf "%s/plugins_registry" (include "devgate.kubelet" .) | quote }}, type: DirectoryOrCreate}
        {{- end }}
        {{- if $agent }}
        - name: agent
          emptyDir: {sizeLimit: 1Mi}
        - name: token
          projected:
            sources:
              - serviceAccountToken: {path: token, expirationSeconds: 3600}
              - configMap:
                  name: kube-root-ca.crt
                  items:
                    - {key: ca.crt, path: ca.crt}
              - downwardAPI:
                  items:
                    - {path: namespace, fieldRef: {fieldPath: metadata.namespace}}
        {{- end }}
        {{- if $on.nfd }}
        - name: nfd
          hostPath: {path: /etc/kubernetes/node-feature-discovery/features.d, type: DirectoryOrCreate}
        {{- end }}
        {{- if $on.deviceInfo }}
        - name: device-info
          hostPath: {path: /var/run/k8s.cni.cncf.io/devinfo/dp, type: DirectoryOrCreate}
        {{- end }}
        {{- with $oci.credentialsSecret }}
        - name: registry
          secret:
            secretName: {{ . | quote }}
            defaultMode: 256 # 0400
            items:
              - {key: .dockerconfigjson, path: config.json}
        {{- end }}
        {{- with $oci.caConfigMap }}
        - name: registry-ca
          configMap:
            name: {{ . | quote }}
            items:
              - {key: ca.crt, path: ca.crt}
        {{- end }}
        {{- with .Values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end }}
