apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
  labels: { app: {{ .Release.Name }} }
spec:
  selector: { app: {{ .Release.Name }} }
  ports:
    - { name: http, port: 80, targetPort: http }
